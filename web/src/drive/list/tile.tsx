import { memo } from 'react'
import { visible } from '../../ui/text/visible.ts'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { FileName } from './file-name.tsx'
import { iconOf } from './kinds.ts'
import { RenameField } from './rename-field.tsx'
import { type RowProps, SelectBox, useRow } from './row.tsx'
import { Thumbnail } from './thumbnail.tsx'

export const Tile = memo(function Tile(given: RowProps) {
  const { file, isSelected, isCursor, isRenaming, actions } = given
  const { over, props } = useRow(given)
  const shown = visible(file.name)
  return (
    <div
      {...props}
      data-grip
      className={`flex h-44 min-w-0 flex-1 flex-col border text-sm ${
        over || isCursor ? 'border-ai' : 'border-line'
      } ${isSelected || over ? 'bg-ai-wash' : 'bg-sheet'}`}
    >
      <span
        role="gridcell"
        className="relative flex min-h-0 flex-1 items-center justify-center overflow-hidden bg-sunk/50"
      >
        <Thumbnail file={file} icon={iconOf(file)} large />
        <SelectBox file={file} isSelected={isSelected} actions={actions} className="absolute top-2 left-2 size-4" />
      </span>
      <span role="gridcell" className="flex h-11 items-center gap-1 border-t border-line pl-3">
        {isRenaming ? (
          <RenameField file={file} onDone={actions.renamed} />
        ) : (
          <span className="flex min-w-0 flex-1">
            <FileName file={file} tabIndex={-1} />
          </span>
        )}
        <span onClick={(event) => event.stopPropagation()}>
          <Actions label={`More actions for ${shown}`} actions={actions.menuOf(file)} tabIndex={-1} />
        </span>
      </span>
    </div>
  )
})
