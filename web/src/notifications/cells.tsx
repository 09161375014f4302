import type { Preference } from './queries.ts'
import { usePreference } from './use-preference.ts'

export function Tick({ cell, label }: { cell: Preference; label: string }) {
  const { shown, set } = usePreference(cell)
  return (
    <label className="inline-grid size-10 place-items-center">
      <input
        type="checkbox"
        className="size-4"
        aria-label={label}
        checked={shown.enabled}
        onChange={({ target }) => set({ enabled: target.checked })}
      />
    </label>
  )
}

const digests = [
  ['none', 'immediately'],
  ['hourly', 'hourly digest'],
  ['daily', 'daily digest'],
] as const

export function Gathered({ cell, label }: { cell: Preference; label: string }) {
  const { shown, set } = usePreference(cell)
  return (
    <select
      aria-label={label}
      className="mt-1 block h-7 max-w-full rounded-xs border border-line bg-sheet px-1 text-[0.8125rem] text-quiet"
      value={shown.digest}
      onChange={({ target }) => set({ digest: target.value as Preference['digest'] })}
    >
      {digests.map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  )
}
