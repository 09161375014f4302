import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type ApiKey, uk } from '../api.ts'
import { useAccount, workspacesQuery } from '../session.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { plural } from '../../ui/text/format.ts'
import { Rows } from '../../ui/page.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { CapDialog } from './cap-dialog.tsx'
import { ChangeKeyDialog, RotateDialog } from './key-dialogs.tsx'
import { KeyRow } from './key-row.tsx'
import { refreshKeys, sortKeys } from './keys.ts'

export function KeyList({
  keys,
  label,
  showWorkspace,
  names,
}: {
  keys: readonly ApiKey[]
  label: string
  showWorkspace: boolean
  /** Owner names by ID, if the list has other members' keys. */
  names?: ReadonlyMap<string, string> | undefined
}) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const { id: me } = useAccount()
  const [all, setAll] = useState(false)
  const changing = useOpen<ApiKey>()
  const capping = useOpen<ApiKey>()
  const rotating = useOpen<ApiKey>()
  const revoking = useOpen<ApiKey>()
  const { active, ended } = sortKeys(keys)
  const nameOf = (id: string | null) =>
    showWorkspace && id ? workspaces.find((one) => one.id === id)?.name : undefined
  const isMine = (key: ApiKey) => key.created_by === me
  const actionsFor = (key: ApiKey) => [
    ...(isMine(key)
      ? [
          { label: 'Edit …', run: () => changing.show(key) },
          { label: 'Rotate …', run: () => rotating.show(key) },
        ]
      : [{ label: 'Edit spend cap …', run: () => capping.show(key) }]),
    { label: 'Revoke …', run: () => revoking.show(key), danger: true },
  ]
  const rowOf = (key: ApiKey, actions: ReturnType<typeof actionsFor>) => (
    <KeyRow
      key={key.id}
      apiKey={key}
      workspace={nameOf(key.workspace_id)}
      owner={isMine(key) ? undefined : (names?.get(key.created_by) ?? 'a former member')}
      actions={actions}
    />
  )
  return (
    <>
      <Rows label={label}>
        {active.map((key) => rowOf(key, actionsFor(key)))}
        {all && ended.map((key) => rowOf(key, []))}
        {active.length === 0 && !all && <li className="px-4 py-5 text-quiet">No active keys.</li>}
      </Rows>
      {ended.length > 0 && (
        <Button look="quiet" className="mt-2" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Hide' : 'Show'} {plural(ended.length, 'inactive key')}
        </Button>
      )}
      {changing.on && (
        <ChangeKeyDialog
          key={`change ${changing.on.id} ${changing.on.updated_at}`}
          apiKey={changing.on}
          {...changing}
        />
      )}
      {capping.on && (
        <CapDialog key={`cap ${capping.on.id} ${capping.on.updated_at}`} apiKey={capping.on} {...capping} />
      )}
      {rotating.on && (
        <RotateDialog key={`rotate ${rotating.on.id} ${rotating.open}`} apiKey={rotating.on} {...rotating} />
      )}
      {revoking.on && (
        <Confirm
          {...revoking}
          title={`Revoke key ${revoking.on.name}?`}
          verb="Revoke key"
          run={async () => {
            await uk.api_keys.revoke({ id: revoking.on!.id })
            await refreshKeys()
            say(`Revoked ${revoking.on!.name}`)
          }}
        >
          <p>
            Requests with{' '}
            <code className="font-mono text-sm text-ink">
              {revoking.on.prefix}…{revoking.on.last4}
            </code>{' '}
            will fail immediately. You can’t undo this.
          </p>
          {!isMine(revoking.on) && (
            <p className="mt-2">This key belongs to another member, who isn’t asked to confirm.</p>
          )}
        </Confirm>
      )}
    </>
  )
}
