use super::*;

#[test]
fn os_errors_are_shown_without_their_number() {
    let said = io::Error::from(Errno::PIPE).to_string();
    assert!(said.contains("os error"), "{said}");
    assert_eq!(without_os_code(&said), "Broken pipe");
    assert_eq!(without_os_code("connection closed"), "connection closed");
}
