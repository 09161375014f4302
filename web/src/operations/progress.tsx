import { Progress as Base } from '@base-ui/react/progress'

export function Progress({ value, name }: { value: number | null; name: string }) {
  const percent = value === null ? null : Math.round(value * 100)
  return (
    <Base.Root
      value={percent}
      aria-label={`Progress of ${name}`}
      className="mt-1.5 flex max-w-80 items-center gap-2 text-[0.8125rem] text-quiet"
    >
      <Base.Track className="block h-1.5 flex-1 overflow-hidden forced-color-adjust-none rounded-xs bg-sunk">
        <Base.Indicator
          className={`block h-full bg-ai transition-[width] duration-500 ease-brush ${percent === null ? 'w-1/3 animate-pulse' : ''}`}
        />
      </Base.Track>
      {percent !== null && <span className="figures w-10 text-right">{percent} %</span>}
    </Base.Root>
  )
}
