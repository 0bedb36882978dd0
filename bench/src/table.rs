//! Markdown tables that are readable as text.

/// A table with aligned columns: `n_texts` columns of texts to the left, and figures to the right.
pub(crate) fn layout(rows: &[Vec<String>], n_texts: usize) -> String {
    let Some((head, body)) = rows.split_first() else { return String::new() };
    let n_chars = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| rows.iter().map(|row| n_chars(&row[column])).max().unwrap_or_default().max(3))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < n_texts {
                format!(" {cell:<width$} |")
            } else {
                format!(" {cell:>width$} |")
            }
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = widths.iter().enumerate().map(|(column, width)| {
        if column < n_texts {
            format!("{}|", "-".repeat(width + 2))
        } else {
            format!("{}:|", "-".repeat(width + 1))
        }
    });
    let rule = format!("|{}\n", rule.collect::<String>());
    line(head) + &rule + &body.iter().map(line).collect::<String>()
}

/// A figure with its significant digits.
pub(crate) fn figure(value: f64) -> String {
    match value {
        large if large >= 100.0 => with_commas(large.round() as u64),
        small => format!("{small:.2}"),
    }
}

/// 10,000,000 rather than 10000000.
pub(crate) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_left_aligned_and_figures_right_aligned() {
        let rows = [["what", "unit", "figure"], ["reading ≤", "µs", "1"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let expected = "\
| what      | unit | figure |
|-----------|------|-------:|
| reading ≤ | µs   |      1 |
";
        assert_eq!(layout(&rows, 2), expected);
    }

    #[test]
    fn large_numbers_have_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (10_000_000, "10,000,000")]
        {
            assert_eq!(with_commas(number), text);
        }
        assert_eq!((figure(99.5), figure(1234.5)), ("99.50".into(), "1,235".into()));
    }
}
