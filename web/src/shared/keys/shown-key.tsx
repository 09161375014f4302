import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { grants } from '../../../../src/core/scopes.ts'
import type { NewApiKey } from '../api.ts'
import { ShownOnce } from '../../ui/dialogs/shown-once.tsx'
import type { OpenState } from '../../ui/dialogs/dialog-props.ts'
import { Snippets } from '../../ui/snippet.tsx'
import { exampleModelQuery } from './example-model.ts'
import { examplesFor } from './examples.ts'

export function ShownKey({ made, ...dialog }: OpenState & { made: NewApiKey; title: string }) {
  const { data: model, isPending } = useQuery(exampleModelQuery(made))
  return (
    <ShownOnce {...dialog} about="Copy this key now. It can’t be shown again." what="key" value={made.key}>
      <h3 className="mt-6 mb-2 font-serif text-lg">Try it</h3>
      {!isPending && model === null && (
        <p className="mb-2 text-sm text-quiet">
          No models are available yet. Add a provider under{' '}
          <Link to="/ai-routing" className="link">
            AI routing
          </Link>{' '}
          first, then use one of its models here.
        </p>
      )}
      {isPending ? (
        <div className="h-56 animate-pulse border border-line bg-sunk" />
      ) : (
        <Snippets
          label="Examples"
          examples={examplesFor({
            origin: location.origin,
            key: made.key,
            model: model ?? null,
            may: grants(made.scopes),
          })}
        />
      )}
    </ShownOnce>
  )
}
