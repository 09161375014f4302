import { uk } from '../../api.ts'
import { ApiError } from '#interfaces/client.ts'
import type { Opened } from '../../ui/dialogs/dialog-props.ts'
import { NameDialog } from '../../ui/dialogs/name-dialog.tsx'
import { folderOf, within } from './paths.ts'
import { type Row, refreshFolder } from './queries.ts'

interface Props extends Opened {
  computerId: string
}

export function NewFolder({ computerId, folder, ...opened }: Props & { folder: string }) {
  return (
    <NameDialog
      {...opened}
      title="New folder"
      verb="Make it"
      field="path"
      call={(name) => uk.computers.fs({ id: computerId, op: 'mkdir', path: within(folder, name) })}
      done={() => refreshFolder(computerId, folder)}
    />
  )
}

/** By `mv` there: calls for files know no other name of what is there. */
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
  if (there !== null) throw refused('There is something of this name already.')
  const ran = await uk.computers.exec({ id, argv: ['mv', '-n', '--', from, to] })
  if ('exit_code' in ran && ran.exit_code !== 0) throw refused(ran.stderr.trim() || 'It could not be renamed.')
}

/** In the form of a refusal, which a form shows. */
const refused = (message: string): ApiError =>
  new ApiError({ status: 409, header: () => null }, { type: 'conflict', message })
