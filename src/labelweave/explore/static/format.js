// How numbers are written.

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const MINUS = "−";
const MISSING = "–";

const unknown = (value) => value === null || value === undefined || Number.isNaN(value);

export function integer(value) {
  return unknown(value) ? MISSING : Math.round(value).toLocaleString("en");
}

export function decimal(value, digits = 3) {
  return unknown(value) ? MISSING : value.toFixed(digits).replace("-", MINUS);
}

/** With a sign, for contributions and differences. */
export function signed(value, digits = 2) {
  return (value > 0 ? "+" : "") + decimal(value, digits);
}

export function scientific(value) {
  const [mantissa, exponent] = value.toExponential(1).split("e");
  const power = [...String(Number(exponent))].map((character) => SUPERSCRIPT[character]).join("");
  return `${mantissa.replace("-", MINUS)}×10${power}`;
}

/** Three decimals; never 0 or 1 for what only is close to it. */
export function probability(value) {
  if (unknown(value)) return MISSING;
  if (value > 0 && value < 0.0005) return "< 0.001";
  if (value < 1 && value >= 0.9995) return "> 0.999";
  return value.toFixed(3);
}

/** For probabilities of sets, which may be very small. */
export function smallProbability(value) {
  if (unknown(value)) return MISSING;
  if (value > 0 && value < 0.0005) return scientific(value);
  return probability(value);
}

export function percent(value) {
  return unknown(value) ? MISSING : `${Math.floor(100 * value)} %`;
}

/** A factor such as “1.8” or “250”. */
export function times(value) {
  if (!Number.isFinite(value)) return "∞";
  if (value < 10) return value.toFixed(value < 1.095 ? 3 : 1);
  return value < 1e5 ? integer(value) : scientific(value);
}

/** A value of a feature or measure: as many digits as it needs, at most four significant ones. */
export function general(value) {
  if (unknown(value)) return MISSING;
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return integer(value).replace("-", MINUS);
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e6) return scientific(value);
  return decimal(value, size < 1 ? 4 : size < 100 ? 3 : 1);
}

export function plural(count, singular, several = `${singular}s`) {
  return `${integer(count)} ${count === 1 ? singular : several}`;
}
