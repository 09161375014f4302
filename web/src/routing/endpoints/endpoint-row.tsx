import { Switch } from '@base-ui/react/switch'
import { type Endpoint, uk } from '../../shared/api.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { plural } from '../../ui/text/format.ts'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { refreshRouting } from '../../shared/providers/queries.ts'
import { StandingLines, StatusTag } from '../standing.tsx'
import { test, useTrial } from './test-endpoint.ts'
import { TrialLine } from './trial-line.tsx'
import { useDraggable } from './use-drag.ts'

export interface Doing {
  change: (endpoint: Endpoint) => void
  remove: (endpoint: Endpoint) => void
}

interface Props {
  endpoint: Endpoint
  up: (() => void) | null
  down: (() => void) | null
  shared: boolean
  alone: boolean
  list: string
  /** The row's actions; null if the person can't change it. */
  doing: Doing | null
}

export function EndpointRow({ endpoint, up, down, shared, alone, list, doing }: Props) {
  const { id, name, slug, base_url, has_api_key, api_key_last4, models_count, enabled, status, weight } = endpoint
  const trial = useTrial(id)
  const fixed = alone || doing === null
  const { row, handle, dragging } = useDraggable(list, id)
  return (
    <div
      ref={row}
      role="group"
      aria-label={name}
      className={`${dragging ? 'opacity-50 ' : ''}grid items-start gap-x-3 gap-y-2 px-4 py-3 ${fixed ? 'grid-cols-[minmax(0,1fr)_auto]' : 'grid-cols-[auto_minmax(0,1fr)_auto]'}`}
    >
      <div className={`-my-1 -ml-1 flex-col ${fixed ? 'hidden' : 'flex'}`}>
        <IconButton
          icon="up"
          label={`Move ${name} up`}
          disabled={up === null}
          onClick={up ?? undefined}
          className="h-7!"
        />
        {/* For the pointer; the arrow buttons do the same by keyboard. */}
        <span
          ref={handle}
          aria-hidden="true"
          title="Drag to reorder"
          className="flex h-5 w-9 cursor-grab items-center justify-center text-quiet"
        >
          <Icon name="grip" />
        </span>
        <IconButton
          icon="down"
          label={`Move ${name} down`}
          disabled={down === null}
          onClick={down ?? undefined}
          className="h-7!"
        />
      </div>
      <div className="min-w-0">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className={`font-medium break-words ${enabled ? '' : 'text-quiet'}`}>{name}</span>
          <StatusTag status={status} />
        </p>
        <p className="text-[0.8125rem] break-words text-quiet">
          <code className="font-mono">{slug}/…</code> · {hostOf(base_url)}
        </p>
        <p className="mt-0.5 text-[0.8125rem] text-quiet">
          {has_api_key ? <>key …{api_key_last4}</> : 'no key'} ·{' '}
          {models_count === null ? 'models unknown' : plural(models_count, 'model')}
          {shared && <> · weight {weight}</>}
        </p>
        <StandingLines of={endpoint} />
        <TrialLine trial={trial} />
      </div>
      {doing && (
        <div className="flex items-center gap-1 max-sm:col-span-3 max-sm:justify-end">
          <Button
            look="quiet"
            pending={trial?.state === 'running'}
            aria-label={`Test provider ${name}`}
            onClick={() => void test(id)}
          >
            Test
          </Button>
          <Enabled endpoint={endpoint} />
          <Actions
            label={`More actions for ${name}`}
            actions={[
              { label: 'Edit …', run: () => doing.change(endpoint) },
              { label: 'Delete …', run: () => doing.remove(endpoint), danger: true },
            ]}
          />
        </div>
      )}
    </div>
  )
}

function Enabled({ endpoint: { id, name, enabled } }: { endpoint: Endpoint }) {
  const { send, pending, rest } = useSend(uk.ai_gateway.update, refreshRouting)
  return (
    <>
      <Switch.Root
        aria-label={`Use ${name}`}
        checked={enabled}
        disabled={pending}
        onCheckedChange={(next) => void send({ id, enabled: next })}
        className="flex h-5 w-9 shrink-0 forced-color-adjust-none items-center rounded-full border border-keyline bg-sunk px-px transition-colors data-checked:border-ai data-checked:bg-ai"
      >
        <Switch.Thumb className="size-4 rounded-full bg-keyline transition-[translate] duration-150 data-checked:translate-x-4 data-checked:bg-on-ai" />
      </Switch.Root>
      <Refused>{rest()}</Refused>
    </>
  )
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)
