import { type MouseEvent, memo } from 'react'
import { visible } from '../../ui/text/visible.ts'
import { Actions } from '../../ui/dialogs/menu.tsx'

import { bytes } from '../../ui/text/format.ts'
import { Ago } from '../../ui/text/time.tsx'
import type { DriveFile } from '../../shared/drive/files.ts'
import { dragging, useDrop } from './drag.ts'
import { FileName } from './file-name.tsx'
import { iconOf, kindWords } from './kinds.ts'
import { RenameField } from './rename-field.tsx'
import { modifiedOf } from './sort.ts'
import { Thumbnail } from './thumbnail.tsx'

/** The row actions: one object for all rows, to avoid re-renders. */
export interface RowActions {
  may: 'view' | 'edit' | 'all'
  click(file: DriveFile, how: 'alone' | 'toggle' | 'range'): void
  along(file: DriveFile): readonly DriveFile[]
  menuOf(file: DriveFile): Parameters<typeof Actions>[0]['actions']
  renamed(): void
}

export interface RowProps {
  file: DriveFile
  at: number
  isSelected: boolean
  isCursor: boolean
  isRenaming: boolean
  actions: RowActions
}

export const rowId = (id: string): string => `row-${id}`

export const howOf = ({ shiftKey, ctrlKey, metaKey }: MouseEvent): 'alone' | 'toggle' | 'range' =>
  shiftKey ? 'range' : ctrlKey || metaKey ? 'toggle' : 'alone'

/** The shared behavior of rows and tiles: selection, dragging and dropping. */
export function useRow({ file, at, isSelected, isRenaming, actions }: RowProps) {
  const folder = file.kind === 'folder' ? { workspaceId: file.workspace_id, folderId: file.id } : null
  const drop = useDrop(actions.may === 'view' ? null : folder, file.name, actions.may === 'all' ? 'all' : 'files')
  return {
    over: drop.over,
    props: {
      role: 'row',
      id: rowId(file.id),
      'aria-rowindex': at + 2,
      'aria-selected': isSelected,
      draggable: actions.may === 'all' && !isRenaming,
      onDragStart: (event: React.DragEvent) => dragging.start(event, actions.along(file)),
      onDragEnd: dragging.end,
      onClick: (event: MouseEvent) => actions.click(file, howOf(event)),
      ...drop.on,
    } as const,
  }
}

/** The selection checkbox; the grid's keys reach it. */
export function SelectBox({
  file,
  isSelected,
  actions,
  className,
}: Pick<RowProps, 'file' | 'isSelected' | 'actions'> & { className: string }) {
  return (
    <input
      type="checkbox"
      tabIndex={-1}
      aria-label={`Select ${visible(file.name)}`}
      checked={isSelected}
      readOnly
      className={className}
      onClick={(event) => {
        event.stopPropagation()
        actions.click(file, event.shiftKey ? 'range' : 'toggle')
      }}
    />
  )
}

const box = 'size-4 shrink-0'

export const Row = memo(function Row(given: RowProps) {
  const { file, isSelected, isCursor, isRenaming, actions } = given
  const { over, props } = useRow(given)
  const shown = visible(file.name)
  return (
    <div
      {...props}
      className={`flex h-12 items-center gap-3 border-b border-line px-3 text-sm ${
        over ? 'bg-ai-wash outline-2 -outline-offset-2 outline-ai' : isSelected ? 'bg-ai-wash' : 'hover:bg-sunk/70'
      } ${isCursor ? 'shadow-[inset_3px_0_0_var(--color-ai)]' : ''}`}
    >
      <span role="gridcell" className="flex items-center">
        <SelectBox file={file} isSelected={isSelected} actions={actions} className={box} />
      </span>
      <span role="gridcell" className="flex min-w-0 flex-1 items-center">
        {/* The icon and name are drag handles; the rest of the row starts a selection box. */}
        <span data-grip className={`flex min-w-0 items-center gap-2.5 ${isRenaming ? 'flex-1' : ''}`}>
          <Thumbnail file={file} icon={iconOf(file)} />
          {isRenaming ? (
            <RenameField file={file} onDone={actions.renamed} />
          ) : (
            <span className="flex min-w-0 flex-col">
              <FileName file={file} tabIndex={-1} />
              <span className="truncate text-[0.8125rem] text-quiet md:hidden">
                <Ago time={modifiedOf(file)} />
                {file.size_bytes !== null && ` · ${bytes(file.size_bytes)}`}
              </span>
            </span>
          )}
        </span>
      </span>
      <span role="gridcell" className="hidden w-32 truncate text-quiet lg:block">
        {kindWords(file)}
      </span>
      <span role="gridcell" className="figures hidden w-28 truncate text-quiet md:block">
        <Ago time={modifiedOf(file)} />
      </span>
      <span role="gridcell" className="figures hidden w-20 text-right whitespace-nowrap text-quiet md:block">
        {file.size_bytes === null ? '' : bytes(file.size_bytes)}
      </span>
      <span role="gridcell" className="flex" onClick={(event) => event.stopPropagation()}>
        <Actions label={`More actions for ${shown}`} actions={actions.menuOf(file)} tabIndex={-1} />
      </span>
    </div>
  )
})

export const columns = {
  select: box,
  name: 'min-w-0 flex-1',
  kind: 'hidden w-32 lg:block',
  modified: 'hidden w-28 md:block',
  size: 'hidden w-20 text-right md:block',
  more: 'w-9',
} as const
