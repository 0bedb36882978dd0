use super::*;

#[test]
fn what_the_system_says_is_told_without_its_number() {
    let said = io::Error::from(Errno::PIPE).to_string();
    assert!(said.contains("os error"), "{said}");
    assert_eq!(without_os_code(&said), "Broken pipe");
    assert_eq!(without_os_code("connection closed"), "connection closed");
}
