import { Button, IconButton } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import type { ModelDraft } from './endpoint-draft.ts'

/** Manually added models with prices. Without any, the provider's list or the catalog is used. */
export function ModelsField({
  models,
  onModels,
  error,
}: {
  models: readonly ModelDraft[]
  onModels: (models: ModelDraft[]) => void
  error: string | null
}) {
  const change = (key: number, part: Partial<ModelDraft>) =>
    onModels(models.map((one) => (one.key === key ? { ...one, ...part } : one)))
  const add = () =>
    onModels([
      ...models,
      { key: Math.max(-1, ...models.map(({ key }) => key)) + 1, id: '', input: '', output: '', rest: {} },
    ])
  return (
    <fieldset>
      <legend className="text-sm font-medium">Models</legend>
      <p className="text-[0.8125rem] text-quiet">
        Leave empty to use the provider’s list. Prices are in USD per 1M tokens. Models without a price can’t be used
        under a spend cap.
      </p>
      <div className="mt-2 space-y-2">
        {models.map(({ key, id, input, output }, row) => (
          <div key={key} className="grid grid-cols-[minmax(0,1fr)_5rem_5rem_auto] items-end gap-2">
            <TextField
              label={<Once row={row}>ID</Once>}
              mono
              value={id}
              onValue={(id) => change(key, { id })}
              spellCheck={false}
            />
            <TextField
              label={<Once row={row}>Input</Once>}
              inputMode="decimal"
              value={input}
              onValue={(input) => change(key, { input })}
            />
            <TextField
              label={<Once row={row}>Output</Once>}
              inputMode="decimal"
              value={output}
              onValue={(output) => change(key, { output })}
            />
            <IconButton
              icon="close"
              label={`Remove ${id || 'this model'}`}
              onClick={() => onModels(models.filter((one) => one.key !== key))}
            />
          </div>
        ))}
      </div>
      {error && <p className="mt-1 text-[0.8125rem] font-medium text-seal">{error}</p>}
      <Button icon="plus" className="mt-2" onClick={add}>
        Add model
      </Button>
    </fieldset>
  )
}

/** A label shown above the first row only; screen readers get it for every row. */
const Once = ({ row, children }: { row: number; children: string }) => (
  <span className={row === 0 ? '' : 'sr-only'}>{children}</span>
)
