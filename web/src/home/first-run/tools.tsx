import { useState } from 'react'
import { grants } from '../../../../src/core/scopes.ts'
import { type NewApiKey, uk } from '../../shared/api.ts'
import { examplesFor } from '../../shared/keys/examples.ts'
import { refreshKeys } from '../../shared/keys/keys.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { Snippets } from '../../ui/snippet.tsx'

const ORDER = ['Claude Code', 'Cursor', 'OpenAI SDK', 'Anthropic SDK', 'curl']
const SCOPES = ['gateway:run', 'model:read'] as const

/** Code examples for common tools, with this server's address and, once created, an API key. */
export function Tools({ model }: { model: string | null }) {
  const [made, setMade] = useState<NewApiKey | null>(null)
  const making = useSend(
    () => uk.api_keys.create({ name: 'My tools', scopes: [...SCOPES] }),
    async (key) => {
      setMade(key)
      await refreshKeys()
    },
  )
  const examples = examplesFor({
    origin: location.origin,
    key: made?.key ?? 'YOUR_KEY',
    model,
    may: grants([...SCOPES]),
  })
  const placeOf = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)
  return (
    <div className="max-w-3xl space-y-3">
      {made ? (
        <div className="flex flex-wrap items-center gap-3 border border-seal/50 bg-seal-wash px-3 py-3">
          <p className="w-full text-sm">Copy this key now. It can’t be shown again.</p>
          <code data-testid="key" className="min-w-0 flex-1 basis-60 font-mono text-sm break-all select-all">
            {made.key}
          </code>
          <Copy text={made.key} label="Copy key" look="primary" />
        </div>
      ) : (
        <div className="flex flex-wrap items-center gap-3">
          <Button look="primary" icon="key" pending={making.pending} onClick={() => void making.send(undefined)}>
            Create key
          </Button>
          <p className="text-sm text-quiet">The key can call and list models. It has no access to your other data.</p>
        </div>
      )}
      <Refused>{making.rest()}</Refused>
      <Snippets label="Examples" examples={examples.toSorted((a, b) => placeOf(a.name) - placeOf(b.name))} />
    </div>
  )
}
