use super::*;

#[test]
fn a_response_is_right_if_status_products_and_errors_are() {
    let body =
        br#"{"entities":[{"id":"A-1"},{"id":"A-2"}],"errors":[{"status":404},{"status":404}],
        "correlationId":"c"}"#;
    let expected = Expected { status: 200, n_products: 2, errors: &[(404, 2)] };
    assert!(expected.check(200, body).is_ok());
    for (wrong, what) in [
        (Expected { status: 206, ..expected }, "200 instead of 206"),
        (Expected { n_products: 3, ..expected }, "2 products instead of 3"),
        (Expected { errors: &[], ..expected }, "errors [404, 404] instead of []"),
        (Expected { errors: &[(404, 1), (502, 1)], ..expected }, "instead of [(404, 1), (502, 1)]"),
    ] {
        let Err(Failure::WrongAnswer(said)) = wrong.check(200, body) else {
            panic!("{wrong:?} is wrong");
        };
        assert!(said.contains(what), "{said}");
    }
    assert!(expected.check(200, b"<html>").is_err());
}
