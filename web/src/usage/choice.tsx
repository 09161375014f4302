import { useId } from 'react'

export function Choice<T extends string | number>({
  label,
  value,
  options,
  onValue,
}: {
  label: string
  value: T
  options: readonly (readonly [value: T, label: string])[]
  onValue: (value: T) => void
}) {
  const name = useId()
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">{label}</legend>
      <div className="flex h-[2.375rem] overflow-hidden rounded-xs border border-keyline bg-sheet">
        {options.map(([one, words]) => (
          <label
            key={one}
            className="flex items-center border-l border-line px-3 text-sm whitespace-nowrap text-quiet first:border-l-0 hover:text-ink has-checked:bg-ai has-checked:text-on-ai has-focus-visible:outline-2 has-focus-visible:-outline-offset-4 has-focus-visible:outline-on-ai"
          >
            <input type="radio" name={name} className="sr-only" checked={one === value} onChange={() => onValue(one)} />
            {words}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
