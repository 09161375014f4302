const LEVELS = 6
const BAND = 6

/**
 * Encodes an image as sixels: bands of six rows, each color of a band drawn separately. `rgb`: three bytes per pixel.
 */
export function sixel(rgb: Uint8Array, width: number, height: number): string {
  const colours = new Set<number>()
  const bands: string[] = []
  for (let top = 0; top < height; top += BAND) {
    const layers = new Map<number, Uint8Array>()
    for (let row = top; row < Math.min(top + BAND, height); row++)
      for (let x = 0; x < width; x++) {
        const colour = colourAt(rgb, (row * width + x) * 3)
        let columns = layers.get(colour)
        if (columns === undefined) layers.set(colour, (columns = new Uint8Array(width)))
        columns[x]! |= 1 << (row - top)
      }
    for (const colour of layers.keys()) colours.add(colour)
    bands.push([...layers].map(([colour, columns]) => `#${colour}${packed(columns)}`).join('$'))
  }
  const palette = [...colours].map((colour) => `#${colour};2;${shares(colour).join(';')}`).join('')
  return `\x1bP0;1q"1;1;${width};${height}${palette}${bands.join('-')}\x1b\\`
}

function colourAt(rgb: Uint8Array, at: number): number {
  const level = (byte: number) => Math.round((byte * (LEVELS - 1)) / 255)
  return (level(rgb[at]!) * LEVELS + level(rgb[at + 1]!)) * LEVELS + level(rgb[at + 2]!)
}

/** Channel values in percent. */
function shares(colour: number): number[] {
  const levels = [Math.floor(colour / LEVELS ** 2), Math.floor(colour / LEVELS) % LEVELS, colour % LEVELS]
  return levels.map((level) => (level * 100) / (LEVELS - 1))
}

/** Run-length encoding: `!5~` repeats a column five times. */
function packed(columns: Uint8Array): string {
  let text = ''
  for (let from = 0, to = 0; from < columns.length; from = to) {
    while (to < columns.length && columns[to] === columns[from]) to++
    const sign = String.fromCharCode(63 + columns[from]!)
    text += to - from > 3 ? `!${to - from}${sign}` : sign.repeat(to - from)
  }
  return text
}
