import { encode } from 'uqr'

const QUIET = 2

/** A QR code. Drawn on a canvas, since the content security policy blocks data URLs. */
export function Qr({ words, label }: { words: string; label: string }) {
  const { data, size } = encode(words, { ecc: 'L', border: 0 })
  const whole = size + 2 * QUIET
  return (
    <svg
      viewBox={`0 0 ${whole} ${whole}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
      className="block w-full max-w-52 border border-line forced-color-adjust-none"
    >
      <rect width={whole} height={whole} className="fill-[#fdfbf6]" />
      {data.flatMap((row, y) =>
        runsOf(row).map(([x, width]) => (
          <rect key={`${x} ${y}`} x={x + QUIET} y={y + QUIET} width={width} height={1} className="fill-[#1e2329]" />
        )),
      )}
    </svg>
  )
}

function runsOf(row: readonly boolean[]): [from: number, width: number][] {
  const runs: [number, number][] = []
  row.forEach((dark, x) => {
    const last = runs.at(-1)
    if (!dark) return
    if (last && last[0] + last[1] === x) last[1]++
    else runs.push([x, 1])
  })
  return runs
}
