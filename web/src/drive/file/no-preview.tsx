import { Button } from '../../ui/button.tsx'
import { download } from '../file-actions.ts'
import { kindWords } from '../list/kinds.ts'
import type { DriveFile } from '../../shared/drive/files.ts'

export function NoPreview({ file, why }: { file: DriveFile; why?: string }) {
  return (
    <div className="flex flex-1 items-center justify-center p-6">
      <div className="max-w-md border border-line bg-sheet px-8 py-10 text-center">
        <h2 className="font-serif text-lg">No preview</h2>
        <p className="mt-1 mb-4 text-quiet">
          {why ??
            `${kindWords(file)} files (${file.mime_type ?? 'unknown type'}) can’t be previewed. Download the file to open it.`}
        </p>
        <Button icon="down" onClick={() => download(file)}>
          Download
        </Button>
      </div>
    </div>
  )
}
