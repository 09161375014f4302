import { useQuery } from '@tanstack/react-query'
import { workspacesQuery } from '../shared/session.ts'
import { shapes } from '../shared/providers/words.ts'
import { Button } from '../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { ModelField } from '../shared/models/model-field.tsx'
import { type Wish, newSeed } from './wish.ts'

interface Props {
  wish: Wish
  onWish: (wish: Wish) => void
  at: (field: string) => string | null
}

export function WishFields({ wish, onWish, at }: Props) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const set = (change: Partial<Wish>) => onWish({ ...wish, ...change })
  return (
    <div className="space-y-5">
      <ModelField value={wish.model} onValue={(model) => set({ model })} error={at('model')} />
      <div className="grid grid-cols-2 gap-4">
        <TextField
          label="Input tokens"
          inputMode="numeric"
          placeholder="unknown"
          value={wish.input_tokens}
          onValue={(input_tokens) => set({ input_tokens })}
          error={at('input_tokens')}
        />
        <TextField
          label="Max. output tokens"
          inputMode="numeric"
          placeholder="model limit"
          value={wish.max_tokens}
          onValue={(max_tokens) => set({ max_tokens })}
          error={at('max_tokens')}
        />
      </div>
      {workspaces.length > 1 && (
        <SelectField
          label="Workspace"
          hint="Its spend caps and rules apply."
          value={wish.workspace}
          onValue={(workspace) => set({ workspace })}
          options={[
            ['', 'Personal workspace'],
            ...workspaces.filter(({ kind }) => kind === 'team').map(({ id, name }) => [id, name] as const),
          ]}
          error={at('workspace_id')}
        />
      )}
      <div className="flex flex-wrap gap-x-6 gap-y-2">
        <CheckField label="Uses tools" checked={wish.tools} onChecked={(tools) => set({ tools })} />
        <CheckField label="Includes images" checked={wish.images} onChecked={(images) => set({ images })} />
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-2">
        <TextField
          label="Seed"
          mono
          inputMode="numeric"
          placeholder="random"
          value={wish.seed}
          onValue={(seed) => set({ seed })}
          error={at('seed')}
        />
        <Button className="mt-6 h-[2.375rem]!" onClick={() => set({ seed: newSeed() })}>
          Reroll seed
        </Button>
      </div>
      <details>
        <summary className="w-fit text-sm text-quiet hover:text-ink">Routing options</summary>
        <Preferences wish={wish} set={set} at={at} />
      </details>
    </div>
  )
}

/** The options that OpenRouter-compatible clients send in `provider` and `models`, and the API format. */
function Preferences({ wish, set, at }: { wish: Wish; set: (change: Partial<Wish>) => void; at: Props['at'] }) {
  return (
    <div className="mt-3 space-y-4 border-l-2 border-line pl-4">
      <SelectField
        label="API format"
        value={wish.shape}
        onValue={(shape) => set({ shape })}
        options={shapes}
        error={at('shape')}
      />
      <SelectField
        label="Sort by"
        value={wish.sort}
        onValue={(sort) => set({ sort })}
        options={[
          ['', 'server default'],
          ['price', 'price'],
          ['throughput', 'throughput'],
          ['latency', 'latency'],
        ]}
        error={at('provider.sort')}
      />
      <TextField
        label="Fallback models"
        mono
        value={wish.models}
        onValue={(models) => set({ models })}
        error={at('models')}
      />
      <TextField
        label="Allowed providers"
        mono
        value={wish.only}
        onValue={(only) => set({ only })}
        error={at('provider.only')}
      />
      <TextField
        label="Ignored providers"
        mono
        value={wish.ignore}
        onValue={(ignore) => set({ ignore })}
        error={at('provider.ignore')}
      />
      <div className="grid grid-cols-2 gap-4">
        <TextField
          label="Max. input price"
          inputMode="decimal"
          placeholder="USD / million"
          value={wish.max_input_price}
          onValue={(max_input_price) => set({ max_input_price })}
          error={at('provider.max_price')}
        />
        <TextField
          label="Max. output price"
          inputMode="decimal"
          placeholder="USD / million"
          value={wish.max_output_price}
          onValue={(max_output_price) => set({ max_output_price })}
        />
      </div>
      <CheckField
        label="Only providers that don’t train on requests"
        checked={wish.private}
        onChecked={(on) => set({ private: on })}
      />
    </div>
  )
}
