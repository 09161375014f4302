import { type Scope, grants } from '../../../../src/core/scopes.ts'
import { Button } from '../../ui/button.tsx'
import { type Preset, groups, presetOf, presets, verbOf } from './scope-presets.ts'

interface Props {
  preset: Preset
  picked: readonly string[]
  onChange: (preset: Preset, picked: readonly string[]) => void
  error: string | null
}

export function ScopePicker({ preset, picked, onChange, error }: Props) {
  return (
    <fieldset aria-describedby={error ? 'scopes-error' : undefined}>
      <legend className="mb-1.5 text-sm font-medium">Permissions</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        {presets.map(({ id, title, about, scopes }) => (
          <label
            key={id}
            className="flex gap-2.5 border border-line bg-sheet px-3 py-2.5 hover:border-keyline has-checked:border-ai has-checked:bg-ai-wash has-focus-visible:outline-2 has-focus-visible:outline-ai"
          >
            <input
              type="radio"
              name="access"
              className="mt-1 size-4 shrink-0"
              checked={preset === id}
              onChange={() => onChange(id, id === 'own' ? spellOut(picked) : scopes)}
            />
            <span>
              <span className="block text-sm font-medium">{title}</span>
              <span className="block text-[0.8125rem] leading-snug text-quiet">{about}</span>
            </span>
          </label>
        ))}
      </div>
      {preset === 'own' && <Choices picked={picked} onChange={(next) => onChange('own', next)} />}
      {preset === 'own' && picked.length > 0 && (
        <Button look="quiet" className="mt-1" onClick={() => onChange('own', [])}>
          Clear selection
        </Button>
      )}
      {error && (
        <p id="scopes-error" className="mt-1 text-[0.8125rem] font-medium text-seal">
          {error}
        </p>
      )}
    </fieldset>
  )
}

const spellOut = (picked: readonly string[]): readonly string[] =>
  presetOf(picked) === 'everything' ? groups.flatMap(({ scopes }) => scopes) : picked

function Choices({ picked, onChange }: { picked: readonly string[]; onChange: (picked: readonly string[]) => void }) {
  const all = grants(picked)
  const toggle = (scope: Scope) =>
    onChange(picked.includes(scope) ? picked.filter((one) => one !== scope) : [...picked, scope])
  return (
    <div className="mt-2 grid border border-line bg-sheet sm:grid-cols-2">
      {groups.map(({ subject, title, scopes }) => (
        <fieldset key={subject} className="flex items-center gap-3 border-b border-line px-3 py-1.5">
          <legend className="float-left w-28 shrink-0 text-sm">{title}</legend>
          {scopes.map((scope) => {
            const implied = all.has(scope) && !picked.includes(scope)
            return (
              <label
                key={scope}
                className="flex items-center gap-1.5 text-[0.8125rem]"
                title={implied ? 'write implies read' : scope}
              >
                <input
                  type="checkbox"
                  aria-label={`${title}: ${verbOf(scope)}`}
                  checked={all.has(scope)}
                  disabled={implied}
                  onChange={() => toggle(scope)}
                />
                {verbOf(scope)}
              </label>
            )
          })}
        </fieldset>
      ))}
    </div>
  )
}
