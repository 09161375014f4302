import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { queryClient, uk } from '../api.ts'
import { keepFirst } from '../chats/first-message.ts'
import { useAccount } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { say } from '../ui/dialogs/toast.tsx'
import { Field } from '../ui/field.tsx'
import { Empty, Refused, Waiting } from '../ui/notice.tsx'
import { Page, Rows } from '../ui/page.tsx'
import { useSend } from '../ui/send.ts'
import { type Shared, takeShared } from './worker.ts'
import { shorten } from '../../../src/core/text/shorten.ts'

/** Where another app's “Share” leads: into a new chat, or into the drive. Nothing happens before somebody says which. */
export function Share() {
  // Once: what was taken is no longer there.
  const { data: shared } = useQuery({
    queryKey: ['shared-with-the-app'],
    queryFn: takeShared,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  })
  return (
    <Page title="Shared from another app" lead="Say what is to become of it.">
      {shared === undefined ? (
        <Waiting what="what was shared" rows={1} />
      ) : shared === null ? (
        <Empty
          title="Nothing is here"
          action={
            <Link to="/chats" className="link">
              Go to your chats
            </Link>
          }
        >
          What is shared waits in memory only, and not for long. Share it once more from the other app.
        </Empty>
      ) : (
        <Choice shared={shared} />
      )}
    </Page>
  )
}

const wordsIn = ({ title, text, url }: Shared): string =>
  [...new Set([title, text, url].map((part) => part.trim()).filter(Boolean))].join('\n\n')

function Choice({ shared }: { shared: Shared }) {
  const { personal_workspace_id: workspace_id } = useAccount()
  const navigate = useNavigate()
  const [words, setWords] = useState(() => wordsIn(shared))
  // What has arrived stays: who tries again sends only what was refused or cut off.
  const arrived = useRef(new Map<unknown, ReturnType<typeof send>>())
  const send = (file: File) =>
    uk.drive.upload(
      { workspace_id, name: file.name || 'shared', on_conflict: 'rename' },
      { file: { bytes: file, name: file.name || 'shared' } },
    )
  const upload = (what: unknown, file: File): ReturnType<typeof send> => {
    const going = arrived.current.get(what) ?? send(file)
    arrived.current.set(what, going)
    going.catch(() => arrived.current.delete(what))
    return going
  }
  const chat = useSend(async () => {
    const uploaded = await Promise.all(shared.files.map((file) => upload(file, file)))
    const { id } = await uk.chats.create({ workspace_id })
    const files = uploaded.map((made, key) => ({
      key,
      name: made.name,
      isPicture: shared.files[key]!.type.startsWith('image/'),
      state: { is: 'there', source: { kind: 'file', file_id: made.id } } as const,
    }))
    keepFirst(id, { text: words, files, model: null })
    void queryClient.invalidateQueries({ queryKey: ['chats'] })
    await navigate({ to: '/chats/$id', params: { id }, replace: true })
  })
  const drive = useSend(async () => {
    const text = new File([words], `${nameFor(shared)}.txt`, { type: 'text/plain' })
    await Promise.all([
      ...shared.files.map((file) => upload(file, file)),
      ...(words.trim() === '' ? [] : [upload(words, text)]),
    ])
    say('It is in your drive')
    await navigate({ to: '/', replace: true })
  })
  return (
    <div className="space-y-5">
      <p role="note" className="border border-line bg-sheet px-4 py-3 text-sm break-words">
        {shared.from === null
          ? 'This came from another app of this device, or from a web page. Read it before you keep it: a chat takes it for your own words.'
          : `The web page ${shared.from} filled this in. If you did not share it from there, leave this page: a chat takes it for your own words.`}
      </p>
      <Field label="Words" optional>
        {(control) => (
          <textarea
            {...control}
            rows={6}
            className="field"
            value={words}
            onChange={({ target }) => setWords(target.value)}
          />
        )}
      </Field>
      {shared.files.length > 0 && (
        <Rows label="Shared files">
          {shared.files.map((file, i) => (
            <li key={i} className="px-4 py-2.5 text-sm break-words">
              {file.name}
            </li>
          ))}
        </Rows>
      )}
      <Refused>{chat.rest() ?? drive.rest()}</Refused>
      <div className="flex flex-wrap gap-2">
        <Button look="primary" icon="chat" pending={chat.pending} onClick={() => void chat.send(undefined)}>
          Begin a chat with it
        </Button>
        <Button pending={drive.pending} onClick={() => void drive.send(undefined)}>
          Keep it in the drive
        </Button>
      </div>
    </div>
  )
}

const nameFor = ({ title }: Shared): string => shorten(title.trim().replaceAll(/[/\\\0]/g, ' '), 80) || 'Shared'
