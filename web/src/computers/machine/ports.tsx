import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { useOpen } from '../../ui/dialogs/dialog.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Empty, Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Rows, Section, Tag } from '../../ui/page.tsx'
import { useSend } from '../../ui/send.ts'
import type { Computer } from '../queries.ts'

type Port = Awaited<ReturnType<typeof uk.computers.ports>>['rows'][number]

/** What listens comes and goes; asked only while somebody looks. */
const LOOK_MS = 3_000

/** What programs of a computer listen on, and the pages that they serve there. */
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
      about="Each opens at an origin of its own, which reads nothing of the platform. A link is good once, for a minute."
    >
      {error && !ports ? (
        <Failure what="The ports" error={error} again={refetch} />
      ) : !ports ? (
        <Waiting what="the ports" />
      ) : ports.length === 0 ? (
        <Empty title="Nothing listens there">
          Begin a program that does, on 127.0.0.1 for example, and it is listed here within seconds.
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
          {status === 'closed' ? 'nothing listens there now' : (process ?? 'a program that is not named')}
          {pid !== null && `, process ${pid}`}
        </p>
        <Refused>{opening.rest()}</Refused>
      </div>
      {status === 'listening' ? <Tag tone="good">listening</Tag> : <Tag>closed</Tag>}
      <div className="flex gap-2">
        <Button look="quiet" aria-label={`Label port ${port}`} onClick={onLabel}>
          Label
        </Button>
        {url === null ? (
          <span className="max-w-52 text-[0.8125rem] text-quiet">This instance has no domain for previews.</span>
        ) : (
          <Button
            aria-label={`Open ${name}`}
            pending={opening.pending}
            disabled={status !== 'listening'}
            title={status === 'listening' ? undefined : 'Nothing listens there now.'}
            onClick={() => void opening.send({ id, port })}
          >
            Open
          </Button>
        )}
      </div>
    </li>
  )
}

/** In a window that knows nothing of this one. */
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
      title={`Label port ${port}`}
      about="It stays with the port, whatever listens there. Nothing typed takes it away."
      sending={sending}
      fields={['label']}
      verb="Save"
      onSend={() => void sending.send({ id, port, label: words.trim() === '' ? null : words })}
    >
      <TextField label="Label" autoComplete="off" value={words} onValue={setWords} error={sending.at('label')} />
    </FormDialog>
  )
}
