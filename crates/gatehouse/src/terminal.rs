//! Terminal input and output: tables, questions, and the files that users pass.

pub(super) mod output;
pub(super) mod private_file;
pub(super) mod question;
pub(super) mod row_faults;
pub(super) mod screen;
pub(super) mod secret;
pub(super) mod table_input;
pub(super) mod text_input;
