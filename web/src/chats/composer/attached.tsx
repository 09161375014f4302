import { useEffect, useRef, useState } from 'react'
import { sayError, uk } from '../../api.ts'
import { say } from '../../ui/dialogs/toast.tsx'
import { Icon } from '../../ui/icons.tsx'
import { type Source, inlineSource } from '../temporary/inline.ts'

/** A file that will go with the message: it lies in the drive by then, or goes within a message of a temporary chat. */
export interface Attached {
  /** The number of the file in this list, from the moment on that it is chosen. */
  key: number
  name: string
  isPicture: boolean
  /** The bytes, where the file was chosen in this window. */
  file?: File
  state: { is: 'coming' } | { is: 'there'; source: Source } | { is: 'failed'; why: string }
}

export interface Attaching {
  files: readonly Attached[]
  /** Whether a file is on its way still. */
  busy: boolean
  add(files: readonly File[]): void
  remove(key: number): void
  clear(): void
  /** Brings files back that were taken away. */
  bring(files: readonly Attached[]): void
}

const FOLDER = 'Chat uploads'

const NO_PLACE: Attached['state'] = { is: 'failed', why: 'There is no place for files here.' }

/** The workspace into whose drive files go; undefined while it is not known, null where this person has none here. */
export type FilesGoTo = string | null | undefined

/**
 * Files that were dropped, pasted or chosen; each is uploaded to the drive of the workspace as soon as that is known, but
 * for a temporary chat. Where the chat becomes temporary, is kept after all or will be in another workspace, they go the
 * other way: nothing of a temporary one stays in the drive.
 */
export function useAttached(workspaceId: FilesGoTo, temporary: boolean): Attaching {
  const [files, set] = useState<readonly Attached[]>([])
  const next = useRef(0)
  /** The last way that each file was sent; the outcome of an earlier one is not wanted any more. */
  const ways = useRef(new Map<number, Promise<Source>>())
  const settle = (key: number, state: Attached['state']): void =>
    set((now) => now.map((one) => (one.key === key ? { ...one, state } : one)))
  const carry = (key: number, name: string, file: File): void => {
    if (!temporary && typeof workspaceId !== 'string') return
    const sent = temporary ? inlineSource(file) : upload(workspaceId as string, file, name)
    ways.current.set(key, sent)
    const isWanted = (): boolean => ways.current.get(key) === sent
    sent.then(
      (source) => (isWanted() ? settle(key, { is: 'there', source }) : takeBack(source)),
      (error: unknown) => isWanted() && settle(key, { is: 'failed', why: sayError(error) }),
    )
  }
  const add = (chosen: readonly File[]): void => {
    if (chosen.length > 0 && !temporary && workspaceId === null)
      return say('No files go with messages here: this chat is in a workspace that you are not in.')
    for (const file of chosen) {
      const key = next.current++
      const name = file.name || 'pasted'
      set((now) => [...now, { key, name, isPicture: file.type.startsWith('image/'), file, state: { is: 'coming' } }])
      carry(key, name, file)
    }
  }
  const way = temporary ? 'within' : workspaceId
  const was = useRef(way)
  useEffect(() => {
    if (way === undefined || was.current === way) return
    const began = was.current === undefined
    was.current = way
    for (const { key, name, file, state } of files) {
      // What came from the page before lies where it belongs.
      if (file === undefined || (began && state.is !== 'coming')) continue
      settle(key, way === null ? NO_PLACE : { is: 'coming' })
      carry(key, name, file)
      if (state.is === 'there') takeBack(state.source)
    }
  }, [way])
  return {
    files,
    busy: files.some(({ state }) => state.is === 'coming'),
    add,
    remove(key) {
      ways.current.delete(key)
      set((now) => now.filter((one) => one.key !== key))
    },
    clear: () => set([]),
    bring(back) {
      // The files may have had their keys on another page.
      next.current = Math.max(next.current, ...back.map(({ key }) => key + 1))
      set((now) => [...back, ...now])
    },
  }
}

/** Removes for good a file that was uploaded for a message that goes without it. */
function takeBack(source: Source): void {
  if (source.kind !== 'file') return
  const id = source.file_id
  void uk.drive
    .trash({ id })
    .then(() => uk.drive.permanent_delete({ id }))
    .catch((error: unknown) => say(`A file of this message stays in the drive, under “${FOLDER}”. ${sayError(error)}`))
}

async function upload(workspaceId: string, bytes: File, name: string): Promise<Source> {
  const folder = await folderFor(workspaceId)
  const made = await uk.drive.upload({ parent_id: folder, name, on_conflict: 'rename' }, { file: { bytes, name } })
  return { kind: 'file', file_id: made.id }
}

async function folderFor(workspaceId: string): Promise<string> {
  const { id } = await uk.drive.create_folder({ workspace_id: workspaceId, name: FOLDER })
  return id
}

export function AttachedList({ attached: { files, remove } }: { attached: Attaching }) {
  if (files.length === 0) return null
  return (
    <ul aria-label="Attached files" className="flex flex-wrap gap-2 px-2.5 pt-2.5">
      {files.map(({ key, name, state }) => (
        <li key={key} className="flex max-w-full items-center gap-1.5 border border-line bg-paper py-0.5 pl-2 text-sm">
          <span className="truncate">{name}</span>
          <span role="status" className={state.is === 'failed' ? 'text-seal' : 'text-quiet'}>
            {state.is === 'coming' ? 'uploading …' : state.is === 'failed' ? state.why : ''}
          </span>
          <button
            type="button"
            aria-label={`Remove ${name}`}
            className="p-1.5 hover:bg-sunk"
            onClick={() => remove(key)}
          >
            <Icon name="close" className="size-3.5" />
          </button>
        </li>
      ))}
    </ul>
  )
}
