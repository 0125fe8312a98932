//! Sums agree bit for bit on every kernel, and no product is outside its bound.

use super::*;

fn noise(seed: &mut u64) -> f32 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 40) as f32 / (1 << 23) as f32 - 1.0
}

fn vectors(count: usize, dimension: usize, seed: &mut u64) -> Vec<Vec<f32>> {
    (0..count).map(|_| (0..dimension).map(|_| noise(seed)).collect()).collect()
}

fn scan(codes: &Codes, kernel: Kernel, query_codes: &QueryCodes) -> Vec<Estimate> {
    let mut products = Vec::new();
    codes.scan(kernel, query_codes, 0..codes.blocks(), |first, estimates| {
        assert_eq!(first, products.len());
        products.extend_from_slice(estimates);
    });
    products
}

#[test]
fn every_kernel_gives_the_same_products_at_the_extremes_too() {
    let mut seed = 3;
    for dimension in [0, 1, 63, 64, 65, 384, 1024, 4096] {
        let mut stored = vectors(150, dimension, &mut seed);
        stored[1].fill(1.0);
        stored[2].fill(-1.0);
        stored[3].fill(0.0);
        let mut codes = Codes::new(dimension);
        stored.iter().for_each(|vector| codes.push(vector));
        for query in [vec![1.0; dimension], vec![-1.0; dimension], stored[7].clone()] {
            let query_codes = QueryCodes::new(&query, dimension);
            let expected = scan(&codes, Kernel(Isa::Portable), &query_codes);
            for kernel in Kernel::available() {
                assert_eq!(scan(&codes, *kernel, &query_codes), expected, "{kernel}, {dimension}");
                let products = |kernel| {
                    (precise_product(kernel, &query, &stored[9]), product(kernel, &query, &stored[9]))
                };
                assert_eq!(products(*kernel), products(Kernel(Isa::Portable)), "{kernel}");
                assert!((products(*kernel).0 - f64::from(products(*kernel).1)).abs() < 1e-3, "{kernel}");
            }
        }
    }
}

#[test]
fn no_product_is_further_off_than_its_bound_and_the_bound_is_small() {
    let mut seed = 11;
    for dimension in [5, 64, 384, 1000] {
        let stored = vectors(300, dimension, &mut seed);
        let mut codes = Codes::new(dimension);
        stored.iter().for_each(|vector| codes.push(vector));
        for query in vectors(20, dimension, &mut seed) {
            let products = scan(&codes, Kernel::best(), &QueryCodes::new(&query, dimension));
            for (product, vector) in products.iter().zip(&stored) {
                let exact: f64 = vector.iter().zip(&query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                assert!((exact - f64::from(product.score)).abs() <= f64::from(product.error));
                assert!(product.error <= 0.01 * length(vector) * length(&query));
            }
        }
    }
}

#[test]
fn rows_that_are_kept_keep_their_order_and_their_products() {
    let mut seed = 5;
    let stored = vectors(100, 384, &mut seed);
    let mut codes = Codes::new(384);
    stored.iter().for_each(|vector| codes.push(vector));
    let query_codes = QueryCodes::new(&stored[0], 384);
    let before = scan(&codes, Kernel::best(), &query_codes);
    codes.retain(|row| row % 3 == 1);
    let expected: Vec<Estimate> = before.into_iter().skip(1).step_by(3).collect();
    assert_eq!(scan(&codes, Kernel::best(), &query_codes), expected);
    codes.push(&stored[0]);
    assert_eq!(scan(&codes, Kernel::best(), &query_codes).len(), 34);
}

#[test]
fn strange_vectors_do_no_harm() {
    let mut codes = Codes::new(8);
    for vector in
        [vec![], vec![1.0; 20], vec![f32::NAN; 8], vec![f32::INFINITY; 8], vec![f32::MIN_POSITIVE; 8]]
    {
        codes.push(&vector);
    }
    for query in [vec![], vec![f32::NAN; 3], vec![f32::MAX; 9], vec![0.0; 8]] {
        assert_eq!(scan(&codes, Kernel::best(), &QueryCodes::new(&query, 8)).len(), 5);
    }
}
