import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { keepFirst } from '../shared/conversation/first-message.ts'
import { useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { say } from '../ui/toast/toast.tsx'
import { Field } from '../ui/field.tsx'
import { Empty, Refused, Waiting } from '../ui/notice.tsx'
import { Page, Rows } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { type Shared, takeShared } from '../shared/service-worker/worker.ts'
import { shorten } from '../../../src/core/text/shorten.ts'

/** The target of the system's share sheet: a new chat or the drive. Nothing is sent before the person chooses. */
export function Share() {
  // Shared content can be taken only once.
  const { data: shared } = useQuery({
    queryKey: ['shared-with-the-app'],
    queryFn: takeShared,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  })
  return (
    <Page title="Shared from another app" lead="Choose where to add the shared content.">
      {shared === undefined ? (
        <Waiting what="shared content" rows={1} />
      ) : shared === null ? (
        <Empty
          title="Nothing to share"
          action={
            <Link to="/chats" className="link">
              Go to Chats
            </Link>
          }
        >
          Shared content is kept only briefly. Share it again from the other app.
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
  // Uploaded files stay: a retry sends only the failed ones.
  const uploads = useRef(new Map<unknown, ReturnType<typeof send>>())
  const send = (file: File) =>
    uk.drive.upload(
      { workspace_id, name: file.name || 'shared', on_conflict: 'rename' },
      { file: { bytes: file, name: file.name || 'shared' } },
    )
  const upload = (what: unknown, file: File): ReturnType<typeof send> => {
    const going = uploads.current.get(what) ?? send(file)
    uploads.current.set(what, going)
    going.catch(() => uploads.current.delete(what))
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
    say('Saved to your drive')
    await navigate({ to: '/', replace: true })
  })
  return (
    <div className="space-y-5">
      <p role="note" className="border border-line bg-sheet px-4 py-3 text-sm break-words">
        {shared.from === null
          ? 'This content came from another app or a web page. Review it first: a chat treats it as your own message.'
          : `This content came from the web page ${shared.from}. If you didn’t share it, leave this page: a chat treats it as your own message.`}
      </p>
      <Field label="Text" optional>
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
          Start a chat
        </Button>
        <Button pending={drive.pending} onClick={() => void drive.send(undefined)}>
          Save to drive
        </Button>
      </div>
    </div>
  )
}

const nameFor = ({ title }: Shared): string => shorten(title.trim().replaceAll(/[/\\\0]/g, ' '), 80) || 'Shared'
