/** Assembles classic BPF over `struct seccomp_data` (linux/seccomp.h, linux/filter.h). */

/** Jumps name a label. Null: the next instruction. */
export type Line =
  | { op: 'load'; offset: number }
  | { op: 'equal' | 'atLeast' | 'anyBit'; value: number; to: string | null; otherwise?: string | null }
  | { op: 'return'; value: number }
  | { op: 'label'; name: string }

const CODES = { load: 0x20, equal: 0x15, atLeast: 0x35, anyBit: 0x45, return: 0x06 } as const

/** An argument's offset is its low half, on little-endian machines. */
export const SEEN = { number: 0, arch: 4, argument: (index: number): number => 16 + 8 * index } as const

export function assemble(lines: readonly Line[]): Buffer {
  const code = lines.filter((line) => line.op !== 'label')
  const places = new Map<string, number>()
  let at = 0
  for (const line of lines)
    if (line.op === 'label') places.set(line.name, at)
    else at++
  const distance = (from: number, to: string | null | undefined): number => {
    if (to === null || to === undefined) return 0
    const place = places.get(to)
    if (place === undefined) throw new Error(`no line is called ${to}`)
    const steps = place - from - 1
    if (steps < 0 || steps > 255) throw new Error(`${to} is ${steps} lines away: a jump leads forward, by 255 at most`)
    return steps
  }
  const bytes = Buffer.alloc(code.length * 8)
  for (const [index, line] of code.entries()) {
    const start = index * 8
    bytes.writeUInt16LE(CODES[line.op], start)
    if ('to' in line) {
      bytes.writeUInt8(distance(index, line.to), start + 2)
      bytes.writeUInt8(distance(index, line.otherwise), start + 3)
    }
    bytes.writeUInt32LE(line.op === 'load' ? line.offset : line.value, start + 4)
  }
  return bytes
}
