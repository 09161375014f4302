import { uk } from '../shared/api.ts'
import type { OpenState } from '../ui/dialogs/dialog-props.ts'
import { NameDialog } from '../ui/dialogs/name-dialog.tsx'
import { readAgain } from './queries.ts'
import { type Place, adopt, targetOf } from '../shared/drive/files.ts'

export function NewFolder({ place, ...opened }: OpenState & { place: Place }) {
  return (
    <NameDialog
      {...opened}
      title="Create folder"
      verb="Create folder"
      call={(name) => uk.drive.create_folder({ ...targetOf(place), name })}
      done={(folder) => {
        adopt(folder)
        void readAgain()
      }}
    />
  )
}
