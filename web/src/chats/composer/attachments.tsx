import { useEffect, useRef, useState } from 'react'
import { uk } from '../../shared/api.ts'
import { sayError } from '../../ui/calls/errors.ts'
import { say } from '../../ui/toast/toast.tsx'
import { Icon } from '../../ui/icons.tsx'
import { inlineSource } from '../temporary/inline-attachment.ts'
import type { AttachedFile, Source } from '../../shared/conversation/written.ts'

export interface Attaching {
  files: readonly AttachedFile[]
  busy: boolean
  add(files: readonly File[]): void
  remove(key: number): void
  clear(): void
  /** Restores files after a failed send. */
  bring(files: readonly AttachedFile[]): void
}

const FOLDER = 'Chat uploads'

const NO_PLACE: AttachedFile['state'] = { is: 'failed', why: 'Files can’t be attached here.' }

/** The workspace for uploads; undefined while loading, null if the person isn't a member. */
export type FilesGoTo = string | null | undefined

/**
 * Dropped, pasted or chosen files are uploaded to the workspace's drive, except in temporary chats. If the chat becomes
 * temporary or permanent, or its workspace changes, files are sent again, so nothing of a temporary chat stays in the
 * drive.
 */
export function useAttached(workspaceId: FilesGoTo, temporary: boolean): Attaching {
  const [files, set] = useState<readonly AttachedFile[]>([])
  const next = useRef(0)
  /** The latest attempt per file; results of earlier attempts are ignored. */
  const ways = useRef(new Map<number, Promise<Source>>())
  const settle = (key: number, state: AttachedFile['state']): void =>
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
      return say('You can’t attach files here because you’re not a member of this chat’s workspace.')
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
      // Files from the previous page are already in the right place.
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

function takeBack(source: Source): void {
  if (source.kind !== 'file') return
  const id = source.file_id
  void uk.drive
    .trash({ id })
    .then(() => uk.drive.permanent_delete({ id }))
    .catch((error: unknown) =>
      say(`A file from this message is still in the drive folder “${FOLDER}”. ${sayError(error)}`),
    )
}

async function upload(workspaceId: string, bytes: File, name: string): Promise<Source> {
  const folder = await folderFor(workspaceId)
  const uploaded = await uk.drive.upload({ parent_id: folder, name, on_conflict: 'rename' }, { file: { bytes, name } })
  return { kind: 'file', file_id: uploaded.id }
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
            aria-label={`Remove file ${name}`}
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
