/** The label's letters as lines on a 4 × 6 grid: fonts differ between machines, and some have none. */
const LETTERS: Readonly<Record<string, string>> = {
  S: 'M4 1 L3 0 L1 0 L0 1 L0 2 L1 3 L3 3 L4 4 L4 5 L3 6 L1 6 L0 5',
  I: 'M1 0 L3 0 M2 0 L2 6 M1 6 L3 6',
  M: 'M0 6 L0 0 L2 3 L4 0 L4 6',
  U: 'M0 0 L0 5 L1 6 L3 6 L4 5 L4 0',
  L: 'M0 0 L0 6 L4 6',
  A: 'M0 6 L0 2 L2 0 L4 2 L4 6 M0 4 L4 4',
  T: 'M0 0 L4 0 M2 0 L2 6',
  E: 'M4 0 L0 0 L0 6 L4 6 M0 3 L3 3',
  D: 'M0 0 L0 6 L2 6 L4 4 L4 2 L2 0 Z',
}
const LABEL = 'SIMULATED'
const ADVANCE = 6

export function labelOf(width: number, height: number): string {
  const units = LABEL.length * ADVANCE - 2
  const scale = Math.min((width * 0.7) / units, (height * 0.4) / 6)
  const [x, y] = [(width - units * scale) / 2, (height - 6 * scale) / 2]
  const letters = [...LABEL]
    .map((letter, i) => `<path transform="translate(${i * ADVANCE} 0)" d="${LETTERS[letter]!}"/>`)
    .join('')
  const draw = (colour: string, thick: number): string =>
    `<g fill="none" stroke="${colour}" stroke-width="${thick}" stroke-linecap="round" stroke-linejoin="round" transform="translate(${x} ${y}) scale(${scale})">${letters}</g>`
  // A dark outline around light lines is readable on any background.
  return draw('#000', 1.6) + draw('#fff', 0.7)
}
