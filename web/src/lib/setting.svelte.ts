/** A choice that this browser remembers, such as the theme or the width of a pane. */
export class Setting<T extends string | number | boolean> {
  #value: T;
  #key: string;

  constructor(key: string, initial: T) {
    this.#key = `stoa.${key}`;
    this.#value = $state(stored(this.#key) ?? initial) as T;
  }

  get value(): T {
    return this.#value;
  }

  set value(value: T) {
    this.#value = value;
    try {
      localStorage.setItem(this.#key, JSON.stringify(value));
    } catch {
      // Remembered until the page is closed, then.
    }
  }
}

function stored<T>(key: string): T | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
}
