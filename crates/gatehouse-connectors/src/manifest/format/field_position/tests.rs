use super::*;

const FILE: &str = "# A file.
name: alpha
list:
  call: { get: /sims, query: { page.size: 1, page: { size: 2 } } }
limits:
  buckets:
    - { calls: 1 }
    -
      calls: 2
settings:
  'a.b':
    c: null
  a: { b.c: 1.5 }
  empty: {}
  truth: true
  below: -3
";

#[test]
fn every_field_has_a_position() {
    #[rustfmt::skip]
    let cases = [
        ("name",                        (2, 7)),
        ("list",                        (4, 3)),
        ("list.call",                   (4, 9)),
        ("list.call.get",               (4, 16)),
        ("list.call.query.page.size",   (4, 43)),
        ("list.call.query.page",        (4, 52)),
        ("limits.buckets[0].calls",     (7, 16)),
        ("limits.buckets[1].calls",     (9, 14)),
        ("settings.a.b.c",              (12, 8)),
        ("settings.truth",              (15, 10)),
        ("settings.below",              (16, 10)),
        // A missing field has the position of its parent.
        ("limits.buckets[1].per",       (9, 7)),
        ("limits.buckets[7].per",       (7, 5)),
        ("list.call.post",              (4, 9)),
        ("names",                       (2, 1)),
        ("",                            (2, 1)),
    ];
    let positions = FieldPositions::read(FILE);
    for (field, expected) in cases {
        assert_eq!(positions.of(field), expected, "{field}");
    }
}

#[test]
fn invalid_yaml_has_the_first_position() {
    assert_eq!(FieldPositions::read("{ a: ").of("a"), (1, 1));
    assert_eq!(FieldPositions::read("text").of("a"), (1, 1));
}
