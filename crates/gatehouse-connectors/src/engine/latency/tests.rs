use super::*;

#[test]
fn the_median_of_the_last_responses_is_reported() {
    #[rustfmt::skip]
    let cases: [(&[u64], Option<u64>); 8] = [
        // latencies in milliseconds                   // median
        (&[],                                          None),
        (&[7],                                         Some(7)),
        (&[7, 3],                                      Some(7)),
        (&[7, 3, 5],                                   Some(5)),
        (&[5, 5, 5, 5, 5, 5, 5, 5, 9000],              Some(5)),
        (&[5, 5, 5, 5, 5, 5, 5, 5, 5, 90, 90, 90, 90], Some(5)),
        (&[5, 5, 5, 5, 5, 90, 90, 90, 90, 90],         Some(90)),
        (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],         Some(7)),
    ];
    for (took, expected) in cases {
        let latency = Latency::default();
        took.iter().for_each(|it| latency.record(Duration::from_millis(*it)));
        assert_eq!(latency.median(), expected.map(Duration::from_millis), "{took:?}");
    }
}
