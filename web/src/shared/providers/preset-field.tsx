import type { Preset } from '../api.ts'
import { Field } from '../../ui/field.tsx'

export function PresetField({
  presets,
  value,
  onPreset,
}: {
  presets: readonly Preset[]
  value: string
  onPreset: (preset: Preset | null) => void
}) {
  const groups = [
    ['Cloud', presets.filter(({ local }) => !local)],
    ['Your own hardware', presets.filter(({ local }) => local)],
  ] as const
  return (
    <Field label="Provider">
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ target }) => onPreset(presets.find(({ slug }) => slug === target.value) ?? null)}
        >
          {groups.map(([label, some]) => (
            <optgroup key={label} label={label}>
              {some.map(({ slug, name }) => (
                <option key={slug} value={slug}>
                  {name}
                </option>
              ))}
            </optgroup>
          ))}
          <option value="">Custom provider</option>
        </select>
      )}
    </Field>
  )
}
