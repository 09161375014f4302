import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { grants } from '../../../../src/kernel/scopes.ts'
import type { NewApiKey } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { Snippets } from '../../ui/snippet.tsx'
import { exampleModelQuery } from './example-model.ts'
import { examplesFor } from './examples.ts'

/** The only moment at which a key can be read. */
export function ShownKey({
  open,
  onOpen,
  made,
  title,
}: {
  open: boolean
  onOpen: (open: boolean) => void
  made: NewApiKey
  title: string
}) {
  const { data: model, isPending } = useQuery(exampleModelQuery(made))
  return (
    <Dialog
      open={open}
      onOpen={onOpen}
      wide
      insistent
      title={title}
      about="Copy it now. Only a hash of it is kept, so it can’t be shown again."
      footer={
        <Button look="primary" onClick={() => onOpen(false)}>
          I have stored it
        </Button>
      }
    >
      <div className="flex flex-wrap items-center gap-3 border border-seal/50 bg-seal-wash px-3 py-3">
        <code data-testid="key" className="min-w-0 flex-1 basis-60 font-mono text-sm break-all select-all">
          {made.key}
        </code>
        <Copy text={made.key} label="Copy key" look="primary" />
      </div>
      <h3 className="mt-6 mb-2 font-serif text-lg">Try it</h3>
      {!isPending && model === null && (
        <p className="mb-2 text-sm text-quiet">
          No model can be called yet. Add a provider under{' '}
          <Link to="/ai-routing" className="link">
            AI routing
          </Link>{' '}
          first, and put one of its models here.
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
    </Dialog>
  )
}
