import { Button } from '../../ui/button.tsx'
import { Refused } from '../../ui/notice.tsx'
import type { AgentEditing } from './use-agent-draft.ts'

const FIELDS = [
  'name',
  'description',
  'system_prompt',
  'model',
  'tools',
  'mcp_servers',
  'subagents',
  'spend_cap_usd',
  'spend_cap_period',
  'max_turns',
  'output_schema',
]

export function SaveBar({
  editing: { sending, isOutdated, discard },
  version,
}: {
  editing: AgentEditing
  version: number
}) {
  return (
    <div className="sticky bottom-0 z-10 mt-8 space-y-2 border border-keyline bg-paper px-4 py-3 shadow-[0_-12px_32px_-16px_rgb(8_14_22/.35)]">
      <Refused>{sending.rest(...FIELDS)}</Refused>
      {isOutdated && (
        <p role="status" className="text-sm text-ochre">
          Another user saved version {version}. Saving overwrites their changes.
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <p className="min-w-0 flex-1 basis-32 text-sm text-quiet">Unsaved changes</p>
        <Button onClick={discard}>{isOutdated ? 'Use their version' : 'Discard changes'}</Button>
        <Button look="primary" type="submit" pending={sending.pending} title="Ctrl S">
          Save agent
        </Button>
      </div>
    </div>
  )
}
