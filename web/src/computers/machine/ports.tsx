import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { useOpen } from '../../ui/dialogs/dialog.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Empty, Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Rows, Section, Tag } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import type { Computer } from '../queries.ts'

type Port = Awaited<ReturnType<typeof uk.computers.ports>>['rows'][number]

/** Polls while the page is visible. */
const LOOK_MS = 3_000

export function Ports({ computer: { id } }: { computer: Computer }) {
  const key = ['computer-ports', id]
  const {
    data: ports,
    error,
    refetch,
  } = useQuery({
    queryKey: key,
    queryFn: async () => (await uk.computers.ports({ id, limit: 100 })).rows,
    refetchInterval: LOOK_MS,
  })
  const label = useOpen<Port>()
  return (
    <Section
      title="Ports"
      about="Each port opens on its own origin, isolated from this app. Links work once, within one minute."
    >
      {error && !ports ? (
        <Failure what="The ports" error={error} again={refetch} />
      ) : !ports ? (
        <Waiting what="the ports" />
      ) : ports.length === 0 ? (
        <Empty title="No open ports">
          Start a program that listens on a port, for example on 127.0.0.1. It appears here within seconds.
        </Empty>
      ) : (
        <Rows label="Ports">
          {ports.map((port) => (
            <PortRow key={port.port} id={id} port={port} onLabel={() => label.show(port)} />
          ))}
        </Rows>
      )}
      {label.on && (
        <Label
          key={label.on.port}
          id={id}
          port={label.on}
          open={label.open}
          onOpen={label.onOpen}
          onDone={() => void queryClient.invalidateQueries({ queryKey: key })}
        />
      )}
    </Section>
  )
}

function PortRow({ id, port: row, onLabel }: { id: string; port: Port; onLabel: () => void }) {
  const { port, label, process, pid, status, url } = row
  const opening = useSend(uk.computers.port_ticket, ({ url: ticket }) => openAway(ticket))
  const name = label ?? `port ${port}`
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3">
      <span className="figures w-16 font-mono text-lg">{port}</span>
      <div className="min-w-0 flex-1 basis-40">
        {label && <p className="font-medium break-words">{label}</p>}
        <p className="text-[0.8125rem] break-words text-quiet">
          {status === 'closed' ? 'nothing is listening' : (process ?? 'unknown program')}
          {pid !== null && `, process ${pid}`}
        </p>
        <Refused>{opening.rest()}</Refused>
      </div>
      {status === 'listening' ? <Tag tone="good">listening</Tag> : <Tag>closed</Tag>}
      <div className="flex gap-2">
        <Button look="quiet" aria-label={`Edit label of port ${port}`} onClick={onLabel}>
          Edit label
        </Button>
        {url === null ? (
          <span className="max-w-52 text-[0.8125rem] text-quiet">Previews aren’t configured on this instance.</span>
        ) : (
          <Button
            aria-label={`Open ${name}`}
            pending={opening.pending}
            disabled={status !== 'listening'}
            title={status === 'listening' ? undefined : 'Nothing is listening on this port.'}
            onClick={() => void opening.send({ id, port })}
          >
            Open
          </Button>
        )}
      </div>
    </li>
  )
}

/** In a window without access to this one. */
function openAway(url: string): void {
  const link = document.createElement('a')
  link.href = url
  link.target = '_blank'
  link.rel = 'noopener noreferrer'
  link.click()
}

function Label({
  id,
  port: { port, label },
  open,
  onOpen,
  onDone,
}: {
  id: string
  port: Port
  open: boolean
  onOpen: (open: boolean) => void
  onDone: () => void
}) {
  const [words, setWords] = useState(label ?? '')
  const sending = useSend(uk.computers.label_port, () => {
    onDone()
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Edit label of port ${port}`}
      about="The label belongs to the port, whichever program uses it. Leave it empty to remove it."
      sending={sending}
      fields={['label']}
      verb="Save label"
      onSend={() => void sending.send({ id, port, label: words.trim() === '' ? null : words })}
    >
      <TextField label="Label" autoComplete="off" value={words} onValue={setWords} error={sending.at('label')} />
    </FormDialog>
  )
}
