const WIDTH = 640
const HEIGHT = 960

function swell(y: number, height: number, length: number, phase: number): string {
  const at = (x: number): number =>
    y -
    height * Math.sin((x / length) * 2 * Math.PI + phase) -
    height * 0.32 * Math.sin((x / length) * 5.2 * Math.PI + phase * 2.3)
  const points = Array.from({ length: 65 }, (_, i) => [(i / 64) * WIDTH, at((i / 64) * WIDTH)] as const)
  return points.map(([x, top], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${top.toFixed(1)}`).join('')
}

const seas = [
  { y: 575, height: 16, length: 760, phase: 0.4, fill: 'fill-[#a9bdc6] dark:fill-[#33465a]' },
  { y: 640, height: 22, length: 690, phase: 2.1, fill: 'fill-[#7f9fb3] dark:fill-[#2a3e54]' },
  { y: 715, height: 28, length: 620, phase: 4.2, fill: 'fill-[#557f9e] dark:fill-[#22354a]' },
  { y: 800, height: 34, length: 560, phase: 0.9, fill: 'fill-[#33608a] dark:fill-[#1b2c40]' },
  { y: 890, height: 36, length: 520, phase: 3.3, fill: 'fill-[#1f4468] dark:fill-[#142334]' },
]

export function Print({ className = '' }: { className?: string }) {
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="xMidYMax slice"
      aria-hidden="true"
      focusable="false"
      className={className}
    >
      <defs>
        <linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
          <stop offset="0" className="[stop-color:#24507a] dark:[stop-color:#0a1420]" />
          <stop offset="0.16" className="[stop-color:#7da0b4] dark:[stop-color:#16283a]" />
          <stop offset="0.4" className="[stop-color:#e9dfc9] dark:[stop-color:#243649]" />
          <stop offset="0.62" className="[stop-color:#f0cfae] dark:[stop-color:#3d4a5b]" />
        </linearGradient>
      </defs>
      <rect width={WIDTH} height={HEIGHT} fill="url(#sky)" />
      <circle cx="420" cy="395" r="92" className="fill-[#c1432a] dark:fill-[#d8674c]" />
      {seas.map(({ y, height, length, phase, fill }) => (
        <g key={y}>
          <path d={`${swell(y, height, length, phase)}V${HEIGHT}H0Z`} className={fill} />
          {[9, 21, 36].map((below, i) => (
            <path
              key={below}
              d={swell(y + below, height * (1 - i * 0.12), length, phase)}
              className="fill-none stroke-[#f6f2e8] dark:stroke-[#93aac2]"
              strokeWidth={1.5 - i * 0.35}
              opacity={0.62 - i * 0.17}
            />
          ))}
        </g>
      ))}
    </svg>
  )
}
