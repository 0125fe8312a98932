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
    codes.scan(kernel, query_codes, 0..codes.blocks(), f32::NEG_INFINITY, |row, estimate| {
        assert_eq!(row, products.len());
        products.push(estimate);
        f32::NEG_INFINITY
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

/// Writes codes to a file with their coarse form, and maps it.
fn with_coarse_form(codes: &Codes) -> Codes {
    let mut writer = ArrayWriter::new(tempfile::tempfile().unwrap());
    let numbers: Vec<u32> = (0..codes.len() as u32).collect();
    codes.write_with(&mut writer, &numbers, numbers.len()).unwrap();
    let mut reader = ArrayReader::open(&writer.into_inner()).unwrap();
    Codes::read_with(&mut reader, codes.dimension, numbers.len(), numbers.len()).unwrap()
}

/// Scans for the highest products. Returns their rows, and how many rows were compared in full.
fn ten_highest(codes: &Codes, kernel: Kernel, query: &[f32]) -> (Vec<usize>, usize) {
    let (mut highest, mut compared) = (Vec::new(), 0);
    codes.scan(
        kernel,
        &QueryCodes::new(query, codes.dimension),
        0..codes.blocks(),
        f32::NEG_INFINITY,
        |row, estimate| {
            compared += 1;
            highest.push((estimate.score, row));
            highest.sort_by(|(one, _), (other, _)| other.total_cmp(one));
            highest.truncate(10);
            highest.get(9).map_or(f32::NEG_INFINITY, |(score, _)| *score)
        },
    );
    (highest.into_iter().map(|(_, row)| row).collect(), compared)
}

#[test]
fn a_coarse_look_leaves_out_most_rows_and_hardly_ever_one_of_the_highest() {
    let mut seed = 23;
    for dimension in [100, 384] {
        let centers = vectors(40, dimension, &mut seed);
        let mut near = |number: usize| -> Vec<f32> {
            centers[number % 40].iter().map(|value| value + noise(&mut seed)).collect()
        };
        let mut codes = Codes::new(dimension);
        (0..4000).for_each(|number| codes.push(&near(number)));
        let mapped = with_coarse_form(&codes);
        let (mut missed, mut compared) = (0, 0);
        for query in (0..50).map(&mut near) {
            let expected = ten_highest(&codes, Kernel::best(), &query).0;
            let (found, rows) = ten_highest(&mapped, Kernel::best(), &query);
            missed += expected.iter().filter(|row| !found.contains(row)).count();
            compared += rows;
            for kernel in Kernel::available() {
                assert_eq!(ten_highest(&mapped, *kernel, &query), (found.clone(), rows), "{kernel}");
            }
        }
        assert!(missed <= 1, "{missed} of 500 missed in {dimension} dimensions");
        assert!(compared < 50 * 4000 / 5, "{compared} rows compared in {dimension} dimensions");
    }
}

#[test]
fn a_coarse_look_at_strange_vectors_does_no_harm() {
    let mut codes = Codes::new(8);
    let strange = [vec![0.0; 8], vec![f32::NAN; 8], vec![f32::INFINITY; 8], vec![f32::MIN_POSITIVE; 8]];
    strange.iter().cycle().take(128).for_each(|vector| codes.push(vector));
    codes.push(&[1.0; 8]);
    let mapped = with_coarse_form(&codes);
    for query in [vec![], vec![f32::NAN; 3], vec![f32::MAX; 9], vec![0.0; 8]] {
        ten_highest(&mapped, Kernel::best(), &query);
    }
    assert_eq!(ten_highest(&mapped, Kernel::best(), &[1.0; 8]).0[0], 128);
    let mut seen = Vec::new();
    mapped.scan(
        Kernel::best(),
        &QueryCodes::new(&[1.0; 8], 8),
        0..mapped.blocks(),
        f32::NEG_INFINITY,
        |row, _| {
            seen.push(row);
            -0.5
        },
    );
    assert!(seen.iter().filter(|row| *row % 4 == 0).count() == 33, "rows of zeros have the product 0");
}
