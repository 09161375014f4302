import { useRef } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Actions } from '../../../ui/dialogs/menu.tsx'
import { Icon } from '../../../ui/icons.tsx'
import type { Place } from '../files.ts'
import { chosenIn } from './dropped.ts'
import { uploads } from './uploads.ts'

/** Uploads chosen files, or with `folders` a chosen folder. */
export function UploadButton({ place, name, folders = false }: { place: Place; name: string; folders?: boolean }) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = ({ target }: React.ChangeEvent<HTMLInputElement>): void => {
    uploads.add(chosenIn(target.files), place, name)
    // Allows choosing the same file again.
    target.value = ''
  }
  return (
    <span className="inline-flex">
      <input ref={files} type="file" multiple hidden data-upload="files" onChange={take} />
      <Button look="primary" icon="up" onClick={() => files.current?.click()}>
        Upload
      </Button>
      {folders && (
        <>
          <input
            ref={(input) => {
              folder.current = input
              if (input) input.webkitdirectory = true
            }}
            type="file"
            hidden
            data-upload="folder"
            onChange={take}
          />
          <Actions
            label="More upload options"
            trigger={<Icon name="chevron" />}
            actions={[
              { label: 'Files …', run: () => files.current?.click() },
              { label: 'Folder …', run: () => folder.current?.click() },
            ]}
          />
        </>
      )}
    </span>
  )
}
