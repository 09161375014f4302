import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { uk } from '../../shared/api.ts'
import { workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { type Pairing, refreshComputers } from '../queries.ts'

const Qr = lazy(async () => ({ default: (await import('./qr.tsx')).Qr }))
const LOOK_MS = 2_000

export function Pair({ open, onOpen }: { open: boolean; onOpen: (open: boolean) => void }) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const [name, setName] = useState('')
  const [place, setPlace] = useState('')
  const [pairing, setPairing] = useState<Pairing | null>(null)
  const sending = useSend(uk.computer_pairings.create, setPairing)
  const offered = workspaces.filter(({ role }) => role !== 'viewer')
  const leave = (): void => {
    setPairing(null)
    setName('')
    onOpen(false)
  }
  return (
    <>
      <FormDialog
        open={open && pairing === null}
        onOpen={onOpen}
        title="Connect computer"
        about="Linux or macOS. The computer connects to this server, so you don’t need to open any ports."
        sending={sending}
        fields={['name', 'workspace_id']}
        verb="Create command"
        onSend={() => void sending.send({ ...(name !== '' && { name }), ...(place !== '' && { workspace_id: place }) })}
      >
        <TextField
          label="Name"
          optional
          placeholder="hostname"
          autoComplete="off"
          value={name}
          onValue={setName}
          error={sending.at('name')}
        />
        {offered.length > 1 && (
          <SelectField
            label="Owner"
            hint="Only you can manage your own computers. Admins manage those of a workspace."
            value={place}
            onValue={setPlace}
            options={offered.map((one) => [one.kind === 'personal' ? '' : one.id, one.name] as const)}
            error={sending.at('workspace_id')}
          />
        )}
      </FormDialog>
      {pairing && <Waits pairing={pairing} open={open} leave={leave} />}
    </>
  )
}

function Waits({ pairing, open, leave }: { pairing: Pairing; open: boolean; leave: () => void }) {
  const navigate = useNavigate()
  const { data } = useQuery({
    queryKey: ['computer-pairing', pairing.id],
    queryFn: () => uk.computer_pairings.get({ id: pairing.id }),
    refetchInterval: ({ state }) => ((state.data?.status ?? 'waiting') === 'waiting' ? LOOK_MS : false),
    staleTime: 0,
  })
  const status = data?.status ?? 'waiting'
  const computerId = data?.computer_id ?? null
  useEffect(() => {
    if (computerId !== null) void refreshComputers()
  }, [computerId])
  // The token is revoked when the dialog closes.
  const end = (): void => {
    if (status === 'waiting') void uk.computer_pairings.cancel({ id: pairing.id }).catch(() => {})
    leave()
  }
  const go = (id: string): void => {
    leave()
    void navigate({ to: '/computers/$id', params: { id } })
  }
  return (
    <Dialog
      open={open}
      onOpen={end}
      insistent
      wide
      title="Run this command on the computer"
      about="Valid once, for ten minutes. Shown only once."
      footer={
        computerId === null ? (
          <Button onClick={end}>Cancel</Button>
        ) : (
          <>
            <Button onClick={leave}>Close</Button>
            <Button look="primary" onClick={() => go(computerId)}>
              Open computer
            </Button>
          </>
        )
      }
    >
      <div className="space-y-5">
        <Command label="Install uk and connect" command={pairing.install_command} />
        <Command label="If uk is already installed" command={pairing.command} />
        <div className="flex flex-wrap items-center gap-6">
          <div className="w-52">
            <Suspense fallback={<div className="aspect-square w-full bg-sunk" />}>
              <Qr words={pairing.install_command} label="QR code of the first command" />
            </Suspense>
          </div>
          <div className="min-w-0 flex-1 basis-48">
            <p className="text-sm text-quiet">Or enter this code when uk computer pair asks for it:</p>
            <p className="mt-1 font-mono text-2xl tracking-wider select-all">{pairing.code}</p>
            <p className="mt-3 text-sm text-quiet">
              The --allow option limits what this server can do on the computer. Remove anything you don’t want to
              allow.
            </p>
          </div>
        </div>
        <p role="status" className="flex items-center gap-2 border border-line bg-sheet px-4 py-3 text-sm">
          {status === 'waiting' && (
            <>
              <span
                aria-hidden="true"
                className="size-3.5 animate-spin rounded-full border-[1.5px] border-ai border-r-transparent"
              />
              Waiting for the computer …
            </>
          )}
          {status === 'paired' && 'Computer connected.'}
          {status === 'expired' && 'The code expired or was mistyped too often. Create a new command.'}
        </p>
      </div>
    </Dialog>
  )
}

function Command({ label, command }: { label: string; command: string }) {
  return (
    <div>
      <p className="mb-1 text-sm font-medium">{label}</p>
      <div className="flex flex-wrap items-start gap-2">
        <code className="min-w-0 flex-1 basis-72 rounded-xs border border-line bg-sunk px-3 py-2 font-mono text-[0.8125rem] break-all select-all">
          {command}
        </code>
        <Copy text={command} />
      </div>
    </div>
  )
}
