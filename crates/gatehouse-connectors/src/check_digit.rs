//! Check digits of numbers that are made up: those of simulated platforms, and those that stand for a real fleet's in a
//! recording.

use gatehouse_core::identifier::luhn_digit;

/// Digits with the check digit that belongs behind them.
pub(crate) fn with_check_digit(mut digits: String) -> String {
    digits.extend(luhn_digit(&digits));
    digits
}
