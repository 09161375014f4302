import { uk } from '../../shared/api.ts'
import { ApiError } from '#interfaces/client.ts'
import type { OpenState } from '../../ui/dialogs/dialog-props.ts'
import { NameDialog } from '../../ui/dialogs/name-dialog.tsx'
import { folderOf, within } from './paths.ts'
import { type Row, refreshFolder } from './queries.ts'

interface Props extends OpenState {
  computerId: string
}

export function NewFolder({ computerId, folder, ...opened }: Props & { folder: string }) {
  return (
    <NameDialog
      {...opened}
      title="Create folder"
      verb="Create folder"
      field="path"
      call={(name) => uk.computers.fs({ id: computerId, op: 'mkdir', path: within(folder, name) })}
      done={() => refreshFolder(computerId, folder)}
    />
  )
}

/** Renames by `mv`, since the file API has no rename. */
export function Rename({ computerId, row, ...opened }: Props & { row: Row }) {
  const folder = folderOf(row.path)
  return (
    <NameDialog
      {...opened}
      title={`Rename ${row.name}`}
      verb="Rename"
      before={row.name}
      call={(name) => rename(computerId, row.path, within(folder, name))}
      done={() => refreshFolder(computerId, folder)}
    />
  )
}

async function rename(id: string, from: string, to: string): Promise<void> {
  const there = await uk.computers.fs({ id, op: 'stat', path: to }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  })
  if (there !== null) throw refused('This name is already taken.')
  const ran = await uk.computers.exec({ id, argv: ['mv', '-n', '--', from, to] })
  if ('exit_code' in ran && ran.exit_code !== 0) throw refused(ran.stderr.trim() || 'Couldn’t rename the file.')
}

const refused = (message: string): ApiError =>
  new ApiError({ status: 409, header: () => null }, { type: 'conflict', message })
