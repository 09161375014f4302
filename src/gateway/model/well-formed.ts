/** Unpaired surrogates, in names too, become U+FFFD. */
export function wellFormedJson(value: unknown): string {
  const text = JSON.stringify(value)
  // `JSON.stringify` writes surrogate pairs unchanged, and an unpaired one as `\udXXX`.
  return text.includes('\\ud') ? text.replaceAll(/\\(?:u[0-9a-f]{4}|.)/g, whole) : text
}

const whole = (escape: string): string => (/^\\ud[89a-f]/.test(escape) ? '\ufffd' : escape)
