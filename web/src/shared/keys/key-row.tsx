import type { ApiKey } from '../api.ts'
import { date } from '../../ui/text/format.ts'
import { type Action, Actions } from '../../ui/dialogs/menu.tsx'
import { SpendMeter } from '../../ui/meter.tsx'
import { Tag } from '../../ui/page.tsx'
import { Ago } from '../../ui/text/time.tsx'
import { sayAccess } from './scope-presets.ts'

interface Props {
  apiKey: ApiKey
  /** The workspace's name, unless the page already shows it. */
  workspace?: string | undefined
  /** The key's owner, if it isn't the person. */
  owner?: string | undefined
  actions: readonly Action[]
}

export function KeyRow({ apiKey, workspace, owner, actions }: Props) {
  const { name, prefix, last4, status, last_used_at, expires_at, revoked_at, scopes } = apiKey
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-4 gap-y-3 px-4 py-3.5 md:grid-cols-[minmax(0,1.5fr)_minmax(0,1fr)_minmax(0,1.1fr)_auto]">
      <div className="min-w-0">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 font-medium break-words">{name}</span>
          {status !== 'active' && <Tag tone="bad">{status}</Tag>}
        </p>
        <p className="mt-0.5 text-[0.8125rem] text-quiet">
          <code className="font-mono">
            {prefix}…{last4}
          </code>
        </p>
        <p className="mt-1 text-[0.8125rem] text-quiet">
          {sayAccess(scopes)}
          {workspace && <> · {workspace} only</>}
          {owner && <> · owner: {owner}</>}
        </p>
      </div>
      <div className="text-sm max-md:order-3">
        <p>
          {last_used_at === null ? (
            // The last use is recorded with a delay of some seconds, the spending at once.
            <span className="text-quiet">{apiKey.spent_usd > 0 ? 'Used' : 'Never used'}</span>
          ) : (
            <>
              Used <Ago time={last_used_at} />
            </>
          )}
        </p>
        <p className="text-[0.8125rem] text-quiet">
          {revoked_at !== null ? (
            <>
              Revoked <Ago time={revoked_at} />
            </>
          ) : expires_at === null ? (
            'No expiry'
          ) : (
            `${status === 'expired' ? 'Expired' : 'Expires'} ${date(expires_at)}`
          )}
        </p>
      </div>
      <div className="max-md:order-4 max-md:col-span-2">
        <SpendMeter spent={apiKey.spent_usd} cap={apiKey.spend_cap_usd} per={apiKey.spend_cap_period} name={name} />
      </div>
      <div className="max-md:order-2">
        {actions.length > 0 && <Actions label={`More actions for ${name}`} actions={actions} />}
      </div>
    </li>
  )
}
