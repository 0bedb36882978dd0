// Pasted lists and files: reading rows and IDs, and the faults that are found before sending.

import assert from 'node:assert/strict';
import test from 'node:test';

import { loadModule } from './environment.js';

const { toTable } = await loadModule('batch/csv_writer.js');
const { readPasted, readFileRows } = await loadModule('batch/access_rows.js');
const { readIds } = await loadModule('batch/access_ids.js');
const { decode } = await loadModule('batch/file_text.js');
const { retryTable, refusedRows, markRefused } = await loadModule('batch/retry_table.js');
const { warnOfItems, explainRefusal } = await loadModule('batch/limits.js');

const A = '01a1dd3f-f1be-708c-81bb-51208c72ed9c';
const B = '01a1dd3f-f1be-708c-81bb-51208c72ed9d';

/** @typedef {{rows: {line: number, item: any, faults: string[]}[], trouble?: string}} Read */

/** @param {Read} read */
const itemsOf = ({ rows, trouble }) => {
  assert.equal(trouble, undefined);
  for (const { faults } of rows) assert.deepEqual(faults, []);
  return rows.map((it) => it.item);
};

/** @param {Read} read */
const faultsOf = ({ rows }) => rows.flatMap(({ line, faults }) => faults.map((it) => `${line}: ${it}`));

test('the first line of a list is data', () => {
  for (const names of [
    ['user-001', 'user-002'],
    ['Device 1', 'Device 2'],
    ['Constructor', '__proto__', 'toString'],
    ['password1', 'password2'],
    ['näme', 'müller'],
  ]) {
    const read = readPasted(names.join('\n'), 'deviceName');
    assert.deepEqual(
      itemsOf(read),
      names.map((deviceName) => ({ deviceName })),
    );
    assert.equal(read.header, undefined);
  }
});

test('a line that names columns is the header, unless the user decides otherwise', () => {
  const text = '\nUser Name\nann\n';
  const table = readPasted(text, 'deviceName');
  assert.deepEqual(itemsOf(table), [{ username: 'ann' }]);
  assert.deepEqual(table.header, { line: 2, isUsed: true });
  const list = readPasted(text, 'deviceName', false);
  assert.deepEqual(itemsOf(list), [{ deviceName: 'User Name' }, { deviceName: 'ann' }]);
  assert.deepEqual(list.header, { line: 2, isUsed: false });

  // One known name among other cells may be a value.
  const doubtful = 'password, left\nright\n';
  assert.deepEqual(readPasted(doubtful, 'deviceName').header, { line: 1, isUsed: false });
  assert.equal(readPasted(doubtful, 'deviceName').rows.length, 2);
  assert.deepEqual(readPasted('username,colour\nann,red', 'deviceName', true).unused, ['colour']);
  // A line without a column name is never the header.
  assert.equal(readPasted('pump-1\npump-2', 'deviceName', true).rows.length, 2);
});

test('a file without a header is refused', () => {
  for (const [text, why] of [
    ['', /file is empty/],
    ['pump-1\npump-2\n', /must name the columns.*“pump-1” is not one of them/],
    ['admin,password,pump\n', /must name the columns.*“admin” is not one of them/],
    ['username,colour\na,b\n', /“colour” is not one of them/],
    ['constructor,valueOf\n', /must name the columns/],
    ['username,User_Name\na,b\n', /username occurs twice/],
  ]) {
    assert.match(String(readFileRows(text).trouble), /** @type {RegExp} */ (why));
  }
});

test('tables are read in the dialects of spreadsheets', () => {
  const expected = [{ username: 'a', password: 'p, q', deviceName: 'Pumpe "7"' }];
  for (const text of [
    'username,password,deviceName\na,"p, q","Pumpe ""7"""\n',
    '\uFEFFUsername;Password;Device Name\r\na;p, q;"Pumpe ""7"""\r\n',
    'username\tpassword\tdevice_name\na\tp, q\t"Pumpe ""7"""\n\n',
    'sep=;\r\nUSER-NAME;password;device-name\r\na;p, q;"Pumpe ""7"""',
    'deviceName,username,password\r"Pumpe ""7""",a,"p, q"\r',
  ]) {
    assert.deepEqual(itemsOf(readFileRows(text)), expected, text);
    assert.deepEqual(itemsOf(readPasted(text, 'deviceName')), expected, text);
  }
});

test('rows have the line numbers of an editor', () => {
  for (const [text, expected] of /** @type {[string, number[]][]} */ ([
    ['username,password\na,\nb,\n', [2, 3]],
    ['username;password\r\n\r\na;\r\n\r\n\r\nb;', [3, 6]],
    ['\n\ndeviceName\tusername\n"1\n1"\ta\n2\tb\n', [4, 6]],
    ['sep=;\r\nusername;password\r\na;\r\nb;\r\n', [3, 4]],
  ])) {
    const lines = readFileRows(text).rows.map((/** @type {any} */ it) => it.line);
    assert.deepEqual(lines, expected, text);
  }
});

test('a table that gatehouse wrote can be read, and its unused columns are named', () => {
  const columns = ['id', 'username', 'password', 'deviceName', 'name', 'status'];
  const read = readFileRows(toTable(columns, [{ id: A, username: 'u', password: 'p', deviceName: 'd', name: 'd' }]));
  assert.equal(read.trouble, undefined);
  assert.deepEqual(read.rows[0].item, { username: 'u', password: 'p', deviceName: 'd' });
  assert.deepEqual(read.unused, ['id', 'name', 'status']);
  // Without a column deviceName, name is the device name.
  assert.deepEqual(itemsOf(readFileRows('Name\npump\n')), [{ deviceName: 'pump' }]);
  assert.deepEqual(itemsOf(readFileRows('username,label.site,label.a-b\nu,Köln,\nv,,x\n')), [
    { username: 'u', labels: { site: 'Köln' } },
    { username: 'v', labels: { 'a-b': 'x' } },
  ]);
  const long = 'x'.repeat(129);
  assert.deepEqual(faultsOf(readFileRows(`username,label.site\nu,${long}\n`)), [
    '2: label.site: the value has 129 bytes of UTF-8, more than 128',
  ]);
  assert.match(String(readFileRows('label.Site\nx\n').trouble), /“label.Site” is not one of them/);
});

test('the guard before formulas is not part of the value', () => {
  const columns = ['username', 'password', 'deviceName'];
  const table = toTable(columns, [{ username: '-x', password: '=secret', deviceName: '=1+1' }]);
  assert.equal(table, "username,password,deviceName\r\n-x,=secret,'=1+1\r\n");
  const faults = faultsOf(readFileRows(table));
  assert.equal(faults.length, 1);
  assert.match(faults[0], /^2: deviceName begins with a “'”.*remove it$/);
  // Credentials are never guarded: a leading quote is part of the value.
  assert.deepEqual(itemsOf(readFileRows("username,password\n'-x,'=secret\n")), [
    { username: "'-x", password: "'=secret" },
  ]);
  assert.deepEqual(itemsOf(readFileRows("username\n-x\n'tis\n")), [{ username: '-x' }, { username: "'tis" }]);
});

test('an unclosed quote loses no row', () => {
  const open = readFileRows('username,deviceName\na,one\nb,"two\nc,three\n');
  assert.match(String(open.trouble), /^The cell that begins with “"” on line 3 is never closed/);
  assert.deepEqual(open.rows, []);
  assert.deepEqual(faultsOf(readFileRows('username,deviceName\na,"one"two\nb,"three" \nc,four')), [
    '2: has text after the “"” that closes a cell',
    '3: has text after the “"” that closes a cell',
  ]);
  // The second quote closes the first, which joins two rows.
  const [fault] = faultsOf(readFileRows('username,deviceName\na,"one\nb,"two"\nc,three'));
  assert.match(fault, /^2: has text after.*continues to line 3$/);
  // Inside a cell, and in a list without a header, a quote has no meaning.
  assert.deepEqual(itemsOf(readFileRows('deviceName\n5" pipe\n')), [{ deviceName: '5" pipe' }]);
  assert.deepEqual(itemsOf(readPasted('"left\n5" pipe', 'deviceName')), [
    { deviceName: '"left' },
    { deviceName: '5" pipe' },
  ]);
});

test('passwords stay unchanged, and names with outer spaces are faults', () => {
  const read = readFileRows('username,password,deviceName\na, p ,x\n b,,\nc,"  ","y "\n');
  assert.deepEqual(
    read.rows.map((/** @type {any} */ it) => it.item.password),
    [' p ', undefined, '  '],
  );
  assert.deepEqual(faultsOf(read), [
    '3: username “ b” begins or ends with a space',
    '4: deviceName “y ” begins or ends with a space',
  ]);
  // A list is trimmed.
  assert.deepEqual(itemsOf(readPasted('  pump-2, left \n', 'deviceName')), [{ deviceName: 'pump-2, left' }]);
});

test('every fault is reported with its line', () => {
  const rows = [
    'ok,,',
    '00:1b:44:11:3a:b7,,',
    'ok,,',
    `b,${'x'.repeat(73)},`,
    'c,d',
    `,,${'y'.repeat(129)}`,
    '1,2,3,4',
    'a\u0007,,',
  ];
  assert.deepEqual(faultsOf(readFileRows(`username,password,deviceName\n${rows.join('\n')}\n`)), [
    '4: username ok is already on line 2',
    '5: password has more than 72 bytes',
    '6: has 2 cells, where the table has 3 columns',
    '7: deviceName has more than 128 characters',
    '8: has 4 cells, where the table has 3 columns',
    '9: username has a control character',
  ]);
});

test('empty rows are skipped and counted, unless they are quoted', () => {
  const read = readFileRows('username;password;colour\n;;\na;\n\n   \n"";;\n');
  assert.equal(read.nEmpty, 1);
  assert.deepEqual(itemsOf(read), [{ username: 'a' }, {}]);
});

test('IDs are read from lists and from tables', () => {
  for (const text of [
    `${A}\n${B}\n`,
    `${A.toUpperCase()}\r\n\r\n  ${B} `,
    `id\n${A}\n${B}\n`,
    `name,id,status\npump,${A},ACTIVE\n"pump, 2",${B},ACTIVE\n`,
    `index,accessId\n1,${A}\n2,${B}\n`,
    `\uFEFFID;username\r\n${A};u\r\n"${B}";v\r\n`,
  ]) {
    const { ids, faulty, repeated, trouble } = readIds(text);
    assert.deepEqual([ids, faulty, repeated, trouble], [[A, B], [], [], undefined], text);
  }
});

test('other UUIDs are not access IDs, and no line is skipped silently', () => {
  // Usernames and Tasks may be UUIDs, too.
  const table = readIds(`username,id,createdBy\n${B},${A},job-${B}\n`);
  assert.deepEqual([table.ids, table.faulty, table.column], [[A], [], 'id']);
  const list = readIds(`${A}\njob-${B}\n${B.slice(1)}\n${B} ${A}\n${B},${A}\n"${B}"x\n`);
  assert.deepEqual(list.ids, [A]);
  assert.deepEqual(
    list.faulty.map((/** @type {any} */ it) => `${it.line}: ${it.faults}`),
    [
      `2: “job-${B}” is not an access ID`,
      `3: “${B.slice(1)}” is not an access ID`,
      `4: “${`${B} ${A}`.slice(0, 64)}” is not an access ID`,
      '5: has 2 cells, where one ID is expected',
      '6: has text after the “"” that closes a cell',
    ],
  );
  const gaps = readIds(`name,id\na,\n,\nb,${A}\nc,${B},d\n`);
  assert.deepEqual(
    gaps.faulty.map((/** @type {any} */ it) => `${it.line}: ${it.faults}`),
    ['2: has no ID', '3: has no ID', '5: has 3 cells, where the table has 2 columns'],
  );
  assert.match(String(readIds('name,status\na,b\n').trouble), /No column is called id or accessId/);
  assert.match(String(readIds(`${A}\n"${B}\n`).trouble), /on line 2 is never closed/);
});

test('repeated IDs count once, and are reported', () => {
  const { ids, repeated } = readIds(`${A}\n${B}\n${A.toUpperCase()}\n${A}\n`);
  assert.deepEqual(
    [ids, repeated],
    [
      [A, B],
      [3, 4],
    ],
  );
});

test('files are UTF-8, or UTF-16 with a byte order mark', () => {
  const bytes = (/** @type {Buffer} */ it) => Uint8Array.from(it).buffer;
  const utf16 = Buffer.from('\uFEFFusername\nmüller\n', 'utf16le');
  for (const file of [
    Buffer.from('username\nmüller\n'),
    Buffer.from('\uFEFFusername\nmüller\n'),
    utf16,
    Buffer.from(utf16).swap16(),
  ]) {
    assert.deepEqual(decode('f.csv', bytes(file)), { text: 'username\nmüller\n' });
  }
  for (const [file, why] of /** @type {[Buffer, RegExp][]} */ ([
    [Buffer.from('username\na\nm\xfcller\n', 'latin1'), /^f.csv is not UTF-8 text: see line 3\. Save it/],
    [Buffer.from('username\n', 'utf16le'), /^f.csv is not UTF-8 text: it has the character U\+0000/],
    [utf16.subarray(0, 7), /begins like UTF-16, but is not valid UTF-16/],
  ])) {
    assert.match(decode('f.csv', bytes(file)).trouble, why);
  }
  assert.deepEqual(decode('f.csv', new ArrayBuffer(0)), { text: '' });
});

/** The error of an item with an invalid name. @param {string} name @param {object} item */
const refusal = (name, item) => ({
  status: 400,
  detail: `${name} must not hold a \`x\``,
  invalidParams: [{ name, reason: 'must not hold a `x`' }],
  ...item,
});

test('failed items become a table to send, except those whose names are cut', () => {
  const long = 'x'.repeat(64);
  const errors = [
    { status: 409, username: 'taken', deviceName: 'pump, left' },
    refusal('username', { username: long, deviceName: 'pump' }),
    refusal('deviceName', { username: 'ann', deviceName: 'a\uFFFDb' }),
    refusal('password', { username: 'bob' }),
    refusal('password', { username: 'y'.repeat(64) }),
    { status: 409 },
  ];
  const text = String(retryTable(errors));
  const refused = refusedRows(errors);
  const rows = (/** @type {string} */ it) => {
    const read = readPasted(it, 'deviceName');
    markRefused(read.rows, refused);
    return read;
  };
  const faults = faultsOf(rows(text));
  assert.deepEqual(
    faults.map((it) => it.slice(0, 16)),
    ['3: was refused (', '4: was refused (', '6: was refused ('],
  );
  assert.match(faults[0], /must not hold a “x”.*at most 64 characters/);
  const mended = text.replace(long, 'short').replace('\uFFFD', ' ').replace('y'.repeat(64), 'carl');
  assert.deepEqual(itemsOf(rows(mended)), [
    { username: 'taken', deviceName: 'pump, left' },
    { username: 'short', deviceName: 'pump' },
    { username: 'ann', deviceName: 'a b' },
    { username: 'bob' },
    { username: 'carl' },
    {},
  ]);
  assert.equal(retryTable([{ status: 409 }, { status: 400 }]), undefined);
});

test('a batch beyond the default limits has a warning, and a refusal is explained', () => {
  assert.equal(warnOfItems(100_000), undefined);
  assert.match(warnOfItems(100_001), /100.001/);
  const problem = (/** @type {number} */ status, /** @type {string[]} */ ...reasons) => ({
    status,
    invalidParams: reasons.map((reason) => ({ name: 'accesses', reason })),
  });
  const MIB = 1024 * 1024;
  for (const it of ['must have 1 to 500 elements, not 501', 'must be a whole number from 1 to 500, not 501']) {
    assert.match(explainRefusal(problem(400, it), 10), /accepts 500 items in a batch/);
  }
  assert.equal(explainRefusal(problem(400, 'must have 1 to 500 elements, not 0'), 10), undefined);
  assert.equal(explainRefusal(problem(400, 'is taken'), 10), undefined);
  assert.match(explainRefusal(problem(413), 40 * MIB), /has 40 MiB/);
  assert.match(explainRefusal(problem(0), 40 * MIB), /accepts 32 MiB/);
  assert.equal(explainRefusal(problem(0), MIB), undefined);
});
