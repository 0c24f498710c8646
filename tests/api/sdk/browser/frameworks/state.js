// States of a shop's page.

export const START = {
  title: "Title",
  price: 10,
  box: "Box",
  items: [
    { id: 0, name: "one", isSale: true },
    { id: 1, name: "two", isSale: false },
  ],
  isFull: true,
};

/** A generator of whole numbers below a bound, by a seed. */
const randomOf = (seed) => {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
};

const someItems = (random) =>
  Array.from({ length: 6 }, (_, id) => ({ id, name: `item ${random(50)}`, isSale: id % 2 === 0 }))
    .filter(() => random(3) > 0)
    .sort(() => random(3) - 1);

export const statesOf = (seed, count) => {
  const random = randomOf(seed);
  return Array.from({ length: count }, () => ({
    title: `Title ${random(9)}`,
    price: random(100),
    box: random(3) ? `Box ${random(9)}` : null,
    items: someItems(random),
    isFull: random(2) === 0,
  }));
};
