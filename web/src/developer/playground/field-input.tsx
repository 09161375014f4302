import { Field as Labelled } from '../../ui/field.tsx'
import { Words } from '../../ui/text/words.tsx'
import type { Field } from './operations.ts'

const LONG = /^(content|prompt|instructions|text|system|input|query|body|data)$/

export function FieldInput({
  field: { name, kind, required, choices, description, place },
  value,
  onValue,
}: {
  field: Field
  value: string
  onValue: (value: string) => void
}) {
  const isLong = kind === 'json' || (place === 'body' && kind === 'text' && LONG.test(name))
  return (
    <Labelled
      label={<code className="font-mono text-[0.8125rem]">{name}</code>}
      optional={!required}
      className={isLong ? 'sm:col-span-2' : ''}
      hint={description && <Words>{description}</Words>}
    >
      {(control) =>
        kind === 'choice' || kind === 'switch' ? (
          <select {...control} value={value} onChange={({ target }) => onValue(target.value)}>
            <option value="" />
            {(kind === 'switch' ? ['true', 'false'] : choices).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        ) : isLong ? (
          <textarea
            {...control}
            rows={Math.min(12, Math.max(2, value.split('\n').length))}
            spellCheck={kind !== 'json'}
            className={`field ${kind === 'json' ? 'font-mono text-sm' : ''}`}
            placeholder={kind === 'json' ? 'JSON' : undefined}
            value={value}
            onChange={({ target }) => onValue(target.value)}
          />
        ) : (
          <input
            {...control}
            type="text"
            inputMode={kind === 'number' ? 'decimal' : 'text'}
            autoComplete="off"
            spellCheck={false}
            className="field font-mono text-sm"
            value={value}
            onChange={({ target }) => onValue(target.value)}
          />
        )
      }
    </Labelled>
  )
}
