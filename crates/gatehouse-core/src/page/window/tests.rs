use proptest::prelude::*;

use super::*;

#[test]
fn a_page_is_a_window() {
    let window = Window::of(PageRequest { number: 3, size: 10 });
    assert_eq!(window, Window { start: 20, len: 10 });
    assert_eq!(window.slice(0..25).collect::<Vec<_>>(), [20, 21, 22, 23, 24]);
    assert_eq!(window.slice(0..5).count(), 0);
}

#[test]
fn few_pages_cover_a_window() {
    #[rustfmt::skip]
    let cases = [
        // page, its size, platform's largest // pages needed
        (1,     10,   100,                     1),
        (7,     10,   100,                     1),
        (1,     1000, 100,                     10),
        (3,     1000, 50,                      20),
        (1,     333,  100,                     4),
        (2,     333,  100,                     4),
        (4,     333,  250,                     2),
        (1,     100,  100,                     1),
        (5,     1,    1,                       1),
    ];
    for (number, size, max, n_pages) in cases {
        let window = Window::of(PageRequest { number, size });
        let n = window.pages(window.page_size(1, max)).count();
        assert_eq!(n, n_pages, "page {number} of {size}, by {max}");
    }
}

proptest! {
    #[test]
    fn pages_cover_the_window_exactly(
        number in 1u64..50, len in 1u64..=1000, max in 1u64..=1000, total in 0u64..5000, share in 0.0..1.0
    ) {
        let min = 1 + ((max - 1) as f64 * share) as u64;
        let window = Window::of(PageRequest { number, size: len });
        for size in [window.page_size(min, max), max] {
            prop_assert!((min..=max).contains(&size));
            let mut got = Vec::new();
            for piece in window.pages(size) {
                let page = (piece.index * size..(piece.index + 1) * size).filter(|it| *it < total);
                got.extend(Window { start: piece.skip, len: piece.take }.slice(page));
            }
            prop_assert_eq!(&got, &window.slice(0..total).collect::<Vec<_>>());
            prop_assert!(window.pages(size).all(|piece| piece.take > 0));
        }
        // No other size needs fewer.
        let best = window.page_size(min, max);
        let n_pages = |size: u64| window.pages(size).count();
        prop_assert_eq!((min..=max).map(n_pages).min(), Some(n_pages(best)));
    }
}
