// The results of a search: found, missing and unknown. The modules run without a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { loadModule } from './environment.js';

const { judge, intoRequests } = await loadModule('connection/finding.js');
const { join, recognise, split } = await loadModule('connection/identifier.js');

const ICCID = '8948692690826143258';
const SIM = { id: 'ALPHA-1', productCharacteristic: [{ name: 'ICCID', value: ICCID }] };
const missing = (/** @type {string} */ value) => ({ status: 404, detail: `no connection has \`${value}\`` });

test('a number in the response is found, also if an account failed', () => {
  const { result, found } = judge(recognise(ICCID), ['iccid'], [SIM], [], true);
  assert.equal(result, 'found');
  assert.equal(found[0].product, SIM);
});

test('a number is missing only if every account has responded', () => {
  const sought = recognise(ICCID);
  assert.equal(judge(sought, ['iccid'], [], [], false).result, 'missing');
  assert.equal(judge(sought, ['iccid'], [], [], true).result, 'unknown');
});

test('a number that the response names as missing is missing, also if an account failed', () => {
  const sought = recognise(ICCID);
  assert.equal(judge(sought, ['iccid'], [], [missing(ICCID)], true).result, 'missing');
  assert.equal(judge(sought, ['iccid'], [], [missing('8900000000000000001')], true).result, 'unknown');
  // Missing as one kind, the number may still exist as the other.
  assert.equal(judge(sought, ['iccid', 'serial'], [], [missing(ICCID)], true).result, 'unknown');
});

test('a search request stays within the limit', () => {
  const items = Array.from({ length: 1500 }, () => ({ kinds: ['imsi', 'msisdn'] }));
  const sizes = intoRequests(items).map(
    (/** @type {{kinds: string[]}[]} */ part) => part.flatMap((it) => it.kinds).length,
  );
  assert.deepEqual(sizes, [1000, 1000, 1000]);
  assert.deepEqual(intoRequests([]), []);
});

test('a pasted text is split at separators, except inside quotes', () => {
  const given = [ICCID, '+48794298061999', 'ALPHA-a b', 'x'];
  const pasted = `${ICCID},+48794298061999;\n  "ALPHA-a b"\tx\r\n`;
  assert.deepEqual(split(pasted), given);
  assert.deepEqual(split(join(given)), given);
  assert.deepEqual(split(join(given).replaceAll('\n', ' ')), given);
  assert.deepEqual(split(' , ;; \n'), []);
});

test('an identifier is recognised by its format', () => {
  const kinds = (/** @type {string} */ text) => recognise(text)?.likely;
  assert.deepEqual(kinds(ICCID), ['iccid']);
  assert.equal(recognise('8948692690826143258F').value, ICCID);
  assert.deepEqual(kinds('+48794298061999'), ['msisdn']);
  assert.equal(recognise('+48794298061999').value, '48794298061999');
  assert.deepEqual(kinds('260496931700685'), ['imsi', 'msisdn']);
  assert.deepEqual(kinds('SL-DF-3043766-98743-73'), ['serial']);
  assert.deepEqual(kinds('ALPHA-0283b07ba8'), ['id']);
  assert.equal(kinds('nonsense!'), undefined);
});
